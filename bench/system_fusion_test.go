package bench

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/vec"
)

// TestByDistribution holds the scores to some worked out by hand: means 2 and 3, deviations
// 1 and 3.
func TestByDistribution(t *testing.T) {
	cs := []fusion.Candidate{
		{Ord: 2, Dense: 1, Match: inverted.Match{BM25: 6}},
		{Ord: 1, Dense: 3, Match: inverted.Match{BM25: 0}},
	}
	byDistribution(cs)
	for i, want := range []uint64{1, 2} { // 0.5 + 1/6 + 0.5 - 1/6 each
		if cs[i].Ord != want || math.Abs(cs[i].Score-1) > 1e-12 {
			t.Errorf("place %d: %+v", i+1, cs[i])
		}
	}
	cs = []fusion.Candidate{{Ord: 1, Dense: 1}, {Ord: 2, Dense: 2}, {Ord: 3, Dense: 6}} // no word is found
	byDistribution(cs)
	deviation := math.Sqrt((4.0 + 1 + 9) / 3)
	for i, want := range []float64{0.5 + 3/(6*deviation), 0.5 - 1/(6*deviation), 0.5 - 2/(6*deviation)} {
		if cs[i].Ord != uint64(3-i) || math.Abs(cs[i].Score-want) > 1e-12 {
			t.Errorf("place %d: %+v, want %v", i+1, cs[i], want)
		}
	}
	byDistribution(nil)
}

// TestFeedback: the second search is the hybrid's for the moved vector.
func TestFeedback(t *testing.T) {
	ctx := context.Background()
	c, err := ReadCorpora(townCorpus(t, 60), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSetting(ctx, encoder.NewHash(64), NewTargets(c.Passages), SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := 0; i < s.Targets.Len(); i += 7 {
		texts = append(texts, s.Targets.Texts[i][4:40])
	}
	questions, err := s.Questions(ctx, texts, encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for _, leg := range []string{"rlr", "dense"} {
		answer := func(r Retriever, qs []Question, k int) [][]Hit {
			hits, err := r.Retrieve(ctx, qs, k)
			if err != nil {
				t.Fatal(err)
			}
			return hits
		}
		_, hybrid := prepared(t, s, "hybrid:"+leg)
		_, feedback := prepared(t, s, "feedback:"+leg)
		first := answer(hybrid, questions, 1)
		moved := slices.Clone(questions)
		for i := range moved {
			v := make([]float32, 64)
			for j, x := range s.Passages[first[i][0].Target].Dense {
				v[j] = 0.8*questions[i].Output.Dense[j] + 0.2*x
			}
			vec.Normalize(v)
			moved[i].Output.Dense = v
		}
		want, got, plain := answer(hybrid, moved, 10), answer(feedback, questions, 10), answer(hybrid, questions, 10)
		differ := false
		for i := range want {
			for j := range want[i] {
				if math.Abs(want[i][j].Score-got[i][j].Score) > 1e-6 {
					t.Errorf("%s, %q, place %d: %+v, want %+v", leg, texts[i], j+1, got[i][j], want[i][j])
				}
			}
			differ = differ || !slices.Equal(got[i], plain[i])
		}
		if !differ {
			t.Errorf("%s: nothing was fed back", leg)
		}
		// Behind it, tokens are added to what the second search names.
		behind, err := feedback.(candidateRetriever).candidates(ctx, questions, max(fusionDepth, 20))
		if err != nil {
			t.Fatal(err)
		}
		for i, cs := range behind {
			if !slices.Equal(bestOf(cs, 10), got[i]) {
				t.Errorf("%s, %q: candidates %+v, want %+v", leg, texts[i], bestOf(cs, 10), got[i])
			}
		}
	}
}
