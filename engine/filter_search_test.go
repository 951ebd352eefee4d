package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/index"
)

// TestFilteredSearch: in every mode a filter gives min(k, documents that meet
// it) hits, all of them meeting it, before and after reopening.
func TestFilteredSearch(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{index.KindFlatInt8, index.KindHNSWInt8} {
		dir := t.TempDir()
		e := open(t, dir, engine.Options{Index: kind})
		add(t, e, docs(0, 400))
		if _, err := e.Delete(t.Context(), []string{"d11", "d12"}); err != nil {
			t.Fatal(err)
		}
		check := func() {
			t.Helper()
			for _, f := range []struct {
				expr string
				want int
			}{{"n < 10", 10}, {"n >= 10 and n < 20", 8}, {"n in [1, 2, 399]", 3}, {"n exists", 398}, {"not n < 395", 5}, {"n = 11", 0}} {
				filter, err := filter.Parse(f.expr)
				if err != nil {
					t.Fatal(err)
				}
				for _, mode := range []string{engine.ModeDense, engine.ModeHybrid} {
					r := search(t, e, engine.Query{Text: text(200), K: 50, Mode: mode, Filter: filter})
					if len(r.Hits) != min(50, f.want) || r.Trace.Filtered != f.want {
						t.Fatalf("%s, %s, %s: %d hits of %d, want %d", kind, mode, f.expr, len(r.Hits), r.Trace.Filtered, min(50, f.want))
					}
					for _, h := range r.Hits {
						if ok, err := filter.Match(h.Metadata); !ok || err != nil {
							t.Fatalf("%s: hit %s has %v (%v)", f.expr, h.ID, h.Metadata["n"].(json.Number), err)
						}
					}
				}
				r := search(t, e, engine.Query{Text: "sentence about unit3", K: 400, Mode: engine.ModeLexical, Filter: filter})
				if len(r.Hits) != f.want { // every document has "sentence"
					t.Fatalf("%s: lexical mode finds %d, want %d", f.expr, len(r.Hits), f.want)
				}
			}
		}
		check()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, dir, engine.Options{Index: kind})
		check()
	}
}

// TestNarrowFilterFindsAllChunks: what a narrow filter lets through has the scores that it has without a filter, of
// documents in many chunks too.
func TestNarrowFilterFindsAllChunks(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{Index: index.KindFlatInt8, ChunkTokens: 16})
	all := docs(0, 200)
	for i := range all {
		for n := range i % 7 {
			all[i].Text += fmt.Sprintf(" And here is sentence %d of %d about unit%d, which makes it longer.", n, i, (i*31+n)%200)
		}
	}
	add(t, e, all)
	for _, expr := range []string{"n = 6", "n in [6, 13, 20, 199]", "n >= 190"} {
		f, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, h := range search(t, e, engine.Query{Text: text(13), K: 200, Mode: engine.ModeDense}).Hits {
			if ok, err := f.Match(h.Metadata); err != nil {
				t.Fatal(err)
			} else if ok {
				want = append(want, fmt.Sprint(h.ID, h.Score))
			}
		}
		var got []string
		for _, h := range search(t, e, engine.Query{Text: text(13), K: 200, Mode: engine.ModeDense, Filter: f}).Hits {
			got = append(got, fmt.Sprint(h.ID, h.Score))
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}

func TestDeleteWhere(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 50))
	f, err := filter.Parse("n >= 40")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := e.DeleteWhere(t.Context(), f); n != 10 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	if n, err := e.DeleteWhere(t.Context(), f); n != 0 || err != nil {
		t.Fatalf("%d deleted again, %v", n, err)
	}
	if _, err := e.DeleteWhere(t.Context(), filter.Filter{}); !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("empty filter: %v", err)
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Documents != 40 {
		t.Fatalf("%d left, %v", s.Documents, err)
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "x", Filter: filter.Eq("n", func() {})}); !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("invalid filter: %v", err)
	}
	if _, err := e.Get(t.Context(), fmt.Sprint("d", 39)); err != nil {
		t.Fatal(err)
	}
}
