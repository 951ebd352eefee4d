package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
)

// TestSystemsAnswerAsTheEngine: what a table says of a system holds for the search
// that users get by its name: the same hits, in the same order, with the same scores.
func TestSystemsAnswerAsTheEngine(t *testing.T) {
	ctx, enc := t.Context(), encoder.NewHash(24)
	c, err := ReadCorpus(townCorpus(t, 300), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	targets := NewTargets(c.Passages)
	s, err := NewSetting(ctx, enc, targets, SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	db, err := engine.Open(ctx, t.TempDir(), enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	docs := make([]engine.Document, targets.Len())
	at := map[string]int{}
	for i := range docs {
		docs[i] = engine.Document{ID: targets.ID(i), Text: targets.Texts[i], Vector: s.Passages[i].Dense}
		at[docs[i].ID] = i
	}
	if _, err := db.Add(ctx, docs); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(ctx); err != nil { // the factor is of all of them
		t.Fatal(err)
	}
	var texts []string
	for i := 0; i < targets.Len(); i += 10 {
		texts = append(texts, targets.Texts[i][4:40])
	}
	for _, q := range c.Queries {
		texts = append(texts, q.Text)
	}
	const k = 20
	for name, q := range map[string]engine.Query{
		"dense":        {Mode: engine.ModeDense, Variant: "none"},
		"rlr":          {Mode: engine.ModeDense, Variant: "rlr"},
		"bm25":         {Mode: engine.ModeLexical},
		"hybrid":       {Mode: engine.ModeHybrid, Variant: "rlr"},
		"hybrid:dense": {Mode: engine.ModeHybrid, Variant: "none"},
		"coverage":     {Mode: engine.ModeHybrid, Variant: "rlr", Fusion: fusion.Options{Presence: -1, Beta: 1}},
		"rrf":          {Mode: engine.ModeHybrid, Variant: "none", Fusion: fusion.Options{Kind: fusion.RRF}},
		"convex":       {Mode: engine.ModeHybrid, Variant: "none", Fusion: fusion.Options{Kind: fusion.Convex}},
	} {
		system, r := prepared(t, s, name)
		questions, err := s.Questions(ctx, texts, system.Need)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := r.Retrieve(ctx, questions, k)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			q.Text, q.K = text, k
			want, err := db.Search(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if err := same(answers[i], want.Hits, at); err != nil {
				t.Fatalf("%s, %q: %v", name, text, err)
			}
		}
	}
}

// prepared is a system by its name, ready for a setting.
func prepared(t *testing.T, s *Setting, name string) (System, Retriever) {
	t.Helper()
	system, err := ParseSystem(name)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := system.Prepare(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return system, r
}

// same compares an answer with the engine's. Hits may stand in another order where
// their scores are equal but for rounding.
func same(got []Hit, want []engine.Hit, at map[string]int) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, the engine has %d", len(got), len(want))
	}
	const eps = 1e-5
	scores := map[int]float64{}
	for i, h := range got {
		if d := math.Abs(h.Score - float64(want[i].Score)); !(d < eps) {
			return fmt.Errorf("rank %d: %v, the engine has %v", i+1, h.Score, want[i].Score)
		}
		scores[h.Target] = h.Score
	}
	for i, h := range want {
		s, ok := scores[at[h.ID]]
		if !ok {
			s = got[len(got)-1].Score // one that is as good as the last
		}
		if !(math.Abs(s-float64(h.Score)) < eps) {
			return fmt.Errorf("rank %d: the engine has %q", i+1, h.ID)
		}
	}
	return nil
}
