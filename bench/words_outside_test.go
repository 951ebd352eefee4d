package bench

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/inverted"
)

// TestKnown: sums and BM25 are those of the known targets alone, which rank the
// others by them.
func TestKnown(t *testing.T) {
	ctx, enc := context.Background(), encoder.NewHash(32)
	texts := []Passage{{ID: "a", Body: "red boats in the old harbour"}, {ID: "b", Body: "red barns"}, {ID: "c", Body: "an old mill by the river"}}
	all, err := NewSetting(ctx, enc, NewTargets(append(slices.Clone(texts), Passage{ID: "x", Body: "harbour harbour of old boats"}, Passage{ID: "y", Body: "a red boat"})),
		SettingOptions{Known: func(i int) bool { return i < len(texts) }})
	if err != nil {
		t.Fatal(err)
	}
	few, err := NewSetting(ctx, enc, NewTargets(texts), SettingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sums, err := all.corpusSums(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fewSums, err := few.corpusSums(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if sums.Len() != len(texts) || sums.Deviation() != fewSums.Deviation() {
		t.Errorf("the sums are of %d texts (deviation %v), want those of %d (%v)", sums.Len(), sums.Deviation(), len(texts), fewSums.Deviation())
	}
	l, err := all.lexicon(ctx)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := few.lexicon(ctx)
	if err != nil {
		t.Fatal(err)
	}
	terms := l.analyzer.Terms(nil, "old red boats harbour")
	score := map[uint64]float64{}
	best, err := l.Search(ctx, nil, terms, 9, nil)
	if err != nil || len(best) != 5 {
		t.Fatalf("%v, %v", best, err)
	}
	for i, b := range best {
		score[b.ID] = b.Score
		if i > 0 && best[i-1].Score < b.Score {
			t.Errorf("out of order: %v", best)
		}
	}
	want, err := alone.Search(ctx, nil, terms, 9, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if math.Abs(score[w.ID]-w.Score) > 1e-12 {
			t.Errorf("target %d scores %v beside others, %v without", w.ID, score[w.ID], w.Score)
		}
	}
	if two, err := l.Search(ctx, nil, terms, 2, nil); err != nil || !slices.Equal(two, best[:2]) {
		t.Errorf("the best two are %v of %v, %v", two, best, err)
	}
	// Targets 0 and 3 are asked for, one of the index and one beside it.
	if some, err := l.Search(ctx, nil, terms, 9, func(id uint64) bool { return id%3 == 0 }); err != nil || len(some) != 2 || some[0].ID%3 != 0 || some[1].ID%3 != 0 {
		t.Errorf("of targets 0 and 3 are found %v, %v", some, err)
	}
	matches := make([]inverted.Match, 5)
	if err := l.Match(ctx, matches, terms, []uint64{0, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	for id, m := range matches {
		if math.Abs(m.BM25-score[uint64(id)]) > 1e-12 {
			t.Errorf("target %d matches by %v and is found by %v", id, m.BM25, score[uint64(id)])
		}
	}
	// By hand: y has "red" and "boat", which stand in two and in one of the three texts. Function words do not count in
	// the length: the texts have 4, 2 and 3 words.
	idf := func(df float64) float64 { return math.Log(1 + (3-df+.5)/(df+.5)) }
	norm := 2.2 / (1 + 1.2*(.25+.75*2/3.))
	if hand := norm * (idf(2) + idf(1)); math.Abs(score[4]-hand) > 1e-9 {
		t.Errorf("by hand %v, by the lexicon %v", hand, score[4])
	}
}
