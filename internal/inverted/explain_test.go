package inverted_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// TestExplainAddsUp: the terms' parts are the score, the limit and the pair
// bonus, for random documents after random deletes.
func TestExplainAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	x := newWords(t, inverted.Options{})
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
	draw := func(n int) []text.Term {
		var out []text.Term
		for range n {
			out = append(out, text.Term{Text: names[rng.IntN(len(names))], Weight: 1 / float32(1+rng.IntN(3)), Beside: rng.IntN(6) == 0})
		}
		return out
	}
	docs := map[uint64][]text.Term{}
	for id := range uint64(200) {
		docs[id] = draw(rng.IntN(14))
		if err := x.Add(id, docs[id]); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint64(200) {
		if rng.IntN(2) == 0 {
			x.Remove(t, id)
			delete(docs, id)
		}
	}
	found := 0
	for range 50 {
		q := append(draw(1+rng.IntN(7)), text.Term{Text: "nowhere", Weight: 1})
		for id, d := range docs {
			var score, pair [1]float64
			if err := x.Scores(t.Context(), score[:], q, []uint64{id}); err != nil {
				t.Fatal(err)
			}
			if err := pairShares(t.Context(), x.Words, pair[:], q, []uint64{id}); err != nil {
				t.Fatal(err)
			}
			got, ok, err := x.Explain(nil, q, id)
			if !ok || err != nil {
				t.Fatalf("document %d is absent: %v", id, err)
			}
			var sum, most float64
			for _, e := range got {
				n := 0
				for _, w := range d {
					if w.Text == e.Term {
						n++
					}
				}
				if e.Count != n || (e.Score > 0) != (n > 0) || e.Score >= e.Most {
					t.Fatalf("%+v: the document has it %d times", e, n)
				}
				sum, most = sum+e.Score, most+e.Most
			}
			if math.Abs(sum-score[0]) > 1e-12 || math.Abs(most-x.UB(q)) > 1e-12 {
				t.Fatalf("terms add up to %v of %v, want %v of %v", sum, most, score[0], x.UB(q))
			}
			bonus := 0.0
			for _, p := range inverted.PairShares(q, d, x.IDF) {
				if p.Found {
					bonus += p.Share
					found++
				}
			}
			if math.Abs(bonus-pair[0]) > 1e-12 {
				t.Fatalf("pairs add up to %v, want %v", bonus, pair[0])
			}
		}
	}
	if found == 0 {
		t.Fatal("no pair was ever found")
	}
	if _, ok, err := x.Explain(nil, draw(3), 10_000); ok || err != nil {
		t.Fatal("an absent document is explained")
	}
}

// TestPresence recounts the share of the query's words in random documents, by
// what Explain tells of each word.
func TestPresence(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	x := newWords(t, inverted.Options{})
	ids := make([]uint64, 60)
	for i := range ids {
		ids[i] = uint64(i)
		var d []text.Term
		for range rng.IntN(9) {
			d = append(d, text.Term{Text: string(rune('a' + rng.IntN(12)))})
		}
		if err := x.Add(uint64(i), d); err != nil {
			t.Fatal(err)
		}
	}
	ids = append(ids, 999)
	got := make([]float64, len(ids))
	for range 40 {
		q := []text.Term{{Text: "nowhere", Weight: 0.5}}
		for range 1 + rng.IntN(6) {
			q = append(q, text.Term{Text: string(rune('a' + rng.IntN(12))), Weight: 1 / float32(1+rng.IntN(2))})
		}
		if err := presence(t.Context(), x.Words, got, q, ids); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			words, ok, err := x.Explain(nil, q, id)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				if !math.IsNaN(got[i]) {
					t.Fatalf("an absent document has %v", got[i])
				}
				continue
			}
			found, all := 0.0, 0.0
			for _, w := range words {
				all += w.Most
				if w.Count > 0 {
					found += w.Most
				}
			}
			if math.Abs(got[i]-found/all) > 1e-12 || got[i] > 1 {
				t.Fatalf("document %d: %v, want %v", id, got[i], found/all)
			}
		}
	}
	if err := presence(t.Context(), x.Words, got[:3], nil, ids); err == nil {
		t.Fatal("3 places for 61 documents")
	}
	if err := presence(t.Context(), x.Words, got, nil, ids); err != nil || got[0] != 0 {
		t.Fatalf("no words: %v, %v", got[0], err)
	}
}
