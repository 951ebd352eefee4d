package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// TestFilterByID: a filter on id is answered by the ids there are, at each commit anew, by every call that takes one.
func TestFilterByID(t *testing.T) {
	t.Parallel()
	for _, o := range []engine.Options{{Index: index.KindFlatInt8, ChunkTokens: 16}, {Index: index.KindHNSWInt8}} {
		dir := t.TempDir()
		e := open(t, dir, o)
		all := docs(0, 300)
		all[7].Metadata["id"] = "d8"
		add(t, e, append(all, engine.Document{ID: "d\xff", Text: text(3)}, engine.Document{ID: "2024-01-01", Text: text(4)}))
		there := map[string]map[string]any{"d\xff": nil, "2024-01-01": nil}
		for _, d := range all {
			there[d.ID] = d.Metadata
		}
		check := func() {
			t.Helper()
			for _, expr := range []string{`id = "d7"`, `id = "none"`, `id != "d7"`, `id in ["d1", "d299", "none"]`, `id ^= "d29"`, `id ^= "d"`, `id < "d2"`, `id >= "d98"`, `id between "d10" and "d11"`,
				`id exists`, `metadata.id = "d8"`, `id = "d8" or metadata.id = "d8"`, `id ^= "d1" and n < 20`, `not (id ^= "d1" or n > 20)`, `id = "2024-01-01T00:00:00Z"`, `id > ""`} {
				f, err := filter.Parse(expr)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for id, metadata := range there {
					ok, err := f.MatchDocument(id, metadata)
					if err != nil {
						t.Fatal(err)
					}
					if ok {
						want = append(want, id)
					}
				}
				slices.Sort(want)
				if n, err := e.Count(t.Context(), f); n != len(want) || err != nil {
					t.Fatalf("%s, %s: %d, %v, want %q", o.Index, expr, n, err, want)
				}
				for _, mode := range []string{engine.ModeDense, engine.ModeHybrid} {
					got := ids(search(t, e, engine.Query{Text: text(200), K: 400, Mode: mode, Filter: f}))
					if slices.Sort(got); !slices.Equal(got, want) {
						t.Fatalf("%s, %s, %s: %q, want %q", o.Index, mode, expr, got, want)
					}
				}
			}
		}
		check()
		if _, err := e.Patch(t.Context(), []engine.Patch{{ID: "d7", Metadata: map[string]any{"id": nil}}, {ID: "d1", Metadata: map[string]any{"id": "d8"}}}); err != nil {
			t.Fatal(err)
		}
		delete(there["d7"], "id")
		there["d1"]["id"] = "d8"
		add(t, e, []engine.Document{{ID: "d300", Text: text(300)}})
		there["d300"] = nil
		if n, err := e.DeleteWhere(t.Context(), filter.And(filter.Prefix("id", "d29"), filter.Not(filter.Eq("id", "d299")))); n != 10 || err != nil {
			t.Fatalf("%d deleted, %v", n, err)
		}
		for i := range 9 {
			delete(there, fmt.Sprint("d29", i))
		}
		delete(there, "d29")
		check()
		x, err := e.Explain(t.Context(), engine.Query{Text: text(3), Filter: filter.Eq("id", "d3")}, "d3")
		if err != nil || x.ID != "d3" {
			t.Errorf("%+v, %v", x.Hit, err)
		}
		if _, err := e.Explain(t.Context(), engine.Query{Text: text(3), Filter: filter.Eq("id", "d4")}, "d3"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("explained beside the filter: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, dir, o)
		check()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Count(ended, filter.Gt("id", "d3")); !errors.Is(err, context.Canceled) {
			t.Errorf("ended: %v", err)
		}
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
	all, one := filter.Filter{}, filter.Eq("n", 1)
	written, err := filter.Parse("true and (n = 1 or not false)")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range []filter.Filter{ // however a program puts it together
		all, filter.And(), filter.And(all), filter.And(all, all), filter.Or(one, all), filter.Or(all, one), filter.Not(filter.Or()),
		filter.Not(filter.Not(all)), filter.And(filter.Or(all, one), filter.And(all, all)), written,
	} {
		if n, err := e.DeleteWhere(t.Context(), f); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("filter %d, which every document meets: %d deleted, %v", i, n, err)
		}
	}
	for i, f := range []filter.Filter{filter.Or(), filter.Not(all), filter.And(all, filter.Eq("n", 99)), filter.And(filter.Or(), all)} {
		if n, err := e.DeleteWhere(t.Context(), f); n != 0 || err != nil {
			t.Errorf("filter %d, which no document meets: %d deleted, %v", i, n, err)
		}
	}
	if _, err := e.DeleteWhere(t.Context(), filter.Or(all, filter.Eq("n", func() {}))); err == nil || !strings.Contains(err.Error(), "func()") {
		t.Errorf("an invalid part: %v", err)
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
