package engine_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
)

// adds holds every sum that an explanation promises against the hit that a
// search gives.
func adds(t *testing.T, x engine.Explanation, h engine.Hit) {
	t.Helper()
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) < 2e-5) {
			t.Fatalf("%s of %s chunk %d: %v, want %v", what, h.ID, h.Chunk, got, want)
		}
	}
	if x.ID != h.ID || x.Rank != h.Rank || x.Chunk != h.Chunk || x.Text != h.Text || x.Start != h.Start || x.End != h.End {
		t.Fatalf("explained %s rank %d chunk %d, want %s rank %d chunk %d", x.ID, x.Rank, x.Chunk, h.ID, h.Rank, h.Chunk)
	}
	near("score", float64(x.Score), float64(h.Score))
	near("cosine", float64(x.Cosine), float64(h.Cosine))
	near("modulated", float64(x.Modulated), float64(h.Modulated))
	near("coverage", float64(x.Coverage), float64(h.Coverage))
	if len(x.Terms) > 0 {
		sum := 0.0
		for _, s := range x.Terms {
			sum += s.Weight * s.Value
		}
		near("sum of the terms", sum, float64(h.Score))
	}
	if len(x.Words) > 0 {
		var bm25, coverage, most, pair float64
		for _, w := range x.Words {
			bm25, coverage, most = bm25+w.BM25, coverage+w.Coverage, most+w.Most
		}
		for _, p := range x.Pairs {
			if p.Found {
				pair += p.Share
			}
		}
		near("bm25 of the words", bm25, float64(h.BM25))
		near("coverage of the words", coverage, float64(h.Coverage))
		near("limit of the words", most, 1)
		present := 0.0
		for _, w := range x.Words {
			if w.Count > 0 {
				present += w.Most
			}
		}
		near("presence of the words", present, float64(h.Presence))
		near("share of the pairs", pair, float64(h.Pair))
	}
	if x.Trace.Mode != engine.ModeLexical {
		if !x.Attributed {
			t.Fatalf("%s is not attributed", x.Trace.Variant)
		}
		sum := x.Plain + x.Bias
		for _, s := range x.Tokens {
			sum += s.Shift + s.Scale
		}
		near("sum of the tokens", sum, float64(h.Modulated))
	}
}

func TestExplainAddsUp(t *testing.T) {
	t.Parallel()
	o := small
	o.Local = true
	e := open(t, t.TempDir(), o)
	d := docs(0, 60)
	d[7].Title = "  A title about topic0  "
	d = append(d, engine.Document{ID: "long", Title: "Long", Text: long("alpha", 60)})
	add(t, e, d)
	if _, err := e.Fit(t.Context(), engine.FitOptions{QueriesPerPassage: 3, Epochs: 1}); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	variants := []string{"", engine.VariantNone, "rlr", "rlr-local"}
	for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
		for _, variant := range variants {
			for _, text := range []string{"topic3 and of matter4", "alphathing33 speaks of matter16", "sentence about nothing"} {
				q := engine.Query{Text: text, Mode: mode, Variant: variant, K: 61}
				r := search(t, e, q)
				for i, h := range r.Hits {
					if i > 8 && i%10 > 0 {
						continue
					}
					x, err := e.Explain(t.Context(), q, h.ID)
					if err != nil {
						t.Fatal(err)
					}
					adds(t, x, h)
					if got, _ := e.Get(t.Context(), h.ID); mode != engine.ModeDense {
						checkMatches(t, x, got)
					}
					if (len(x.Terms) > 0) != (mode == engine.ModeHybrid || len(x.Terms) == 1) {
						t.Fatalf("%s: %d terms", mode, len(x.Terms))
					}
				}
			}
		}
	}
}

// checkMatches: a match lies in its field, holds the word, and all words that
// count are among them.
func checkMatches(t *testing.T, x engine.Explanation, d engine.Document) {
	t.Helper()
	count := map[string]int{}
	for _, m := range x.Matches {
		field := d.Text
		if m.Field == "title" {
			field = d.Title
		} else if m.Start < x.Start || m.End > x.End {
			t.Fatalf("%+v lies outside the chunk [%d, %d)", m, x.Start, x.End)
		}
		word := strings.ToLower(field[m.Start:m.End])
		if !strings.HasPrefix(word, strings.TrimSuffix(m.Term, "i")[:min(len(m.Term)-1, 4)]) {
			t.Fatalf("%+v is %q", m, word)
		}
		count[m.Term]++
	}
	for _, w := range x.Words {
		if count[w.Term] != w.Count {
			t.Fatalf("%s: %d places, it stands there %d times", w.Term, count[w.Term], w.Count)
		}
	}
}

func TestExplainRanksAsSearch(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 300))
	for _, f := range []fusion.Options{{}, {Beta: -1}, {Kind: fusion.RRF}, {Kind: fusion.Convex}} {
		q := engine.Query{Text: "unit17 speaks of topic3", K: 5, Fusion: f}
		for _, h := range search(t, e, q).Hits {
			x, err := e.Explain(t.Context(), q, h.ID)
			if err != nil || x.Rank != h.Rank || math.Abs(float64(x.Score-h.Score)) > 1e-5 {
				t.Fatalf("%+v: %s has rank %d and score %v, want %d and %v; %v", f, h.ID, x.Rank, x.Score, h.Rank, h.Score, err)
			}
			want := 6
			if f.Beta < 0 {
				want = 5
			}
			if f.Kind != "" {
				want = 0
			}
			if len(x.Terms) != want {
				t.Fatalf("%+v: %d terms, want %d", f, len(x.Terms), want)
			}
		}
	}
	// One that no leg names is explained, without a rank.
	q := engine.Query{Text: "unit17", K: 1}
	far, none := "", 0
	for i := range 300 {
		x, err := e.Explain(t.Context(), q, fmt.Sprint("d", i))
		if err != nil {
			t.Fatal(err)
		}
		if x.Rank == 0 {
			far, none = x.ID, none+1
		}
	}
	if far == "" || none > 100 {
		t.Fatalf("%d documents are beyond the 200 candidates of the dense leg", none)
	}
}

func TestExplainOfWhatIsNotThere(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 5))
	if _, err := e.Explain(t.Context(), engine.Query{Text: "x"}, "nope"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := e.Explain(t.Context(), engine.Query{Text: "x", Filter: filter.Gt("n", 2)}, "d1"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := e.Explain(t.Context(), engine.Query{}, "d1"); !errors.Is(err, engine.ErrInvalid) {
		t.Fatal(err)
	}
}
