package backendtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
)

func searches(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	enc := encoder.NewHash(dim)
	db, reference := open(t, enc), embedded(t, enc)
	docs := documents(150)
	fill(t, db, docs)
	fill(t, reference, docs)
	// Documents that were added and removed must leave no trace.
	gone := []engine.Document{{ID: "gone", Text: "topic3 topic3 unit7"}}
	fill(t, db, gone)
	if n, err := db.Delete(t.Context(), []string{"gone", "never there"}); n != 1 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	texts := []string{"unit7 about topic3", "topic3", "matter12 of a sentence about item49", "err code 2", "ERR_CODE_2", "unheard words only", "part2 of unit35 goes on", "the of and", "title 5 of topic3", "the subject name of matter3", "item100 part0 err_code_3 topic3"}
	for _, text := range texts {
		for _, mode := range []string{engine.ModeDense, engine.ModeHybrid, engine.ModeLexical} {
			same(t, db, reference, engine.Query{Text: text, Mode: mode, Variant: "none"})
			same(t, db, reference, engine.Query{Text: text, Mode: mode, Variant: "none", K: 30, PerChunk: true})
		}
		same(t, db, reference, engine.Query{Text: text, Variant: "none", K: 25, Collapse: true})
		same(t, db, reference, engine.Query{Text: text, Variant: "none", K: 5, Offset: 5})
		same(t, db, reference, engine.Query{Text: text, Variant: "none", K: 25, MinScore: .5, Spans: true})
		same(t, db, reference, engine.Query{Text: text, Variant: "none", Fusion: fusion.Options{Kind: fusion.Convex}})
	}
	same(t, db, reference, engine.Query{Text: "topic2", Variant: "none", K: 150})
	for _, q := range []engine.Query{{Offset: 98, K: 7}, {Offset: 60, K: 40}, {Offset: 98, K: 7, Filter: filter.Lt("n", 20)}} {
		q.Text, q.Variant = "unit7 about topic3", "none"
		_, err := db.Search(t.Context(), q)
		if _, want := reference.Search(t.Context(), q); errors.Is(err, engine.ErrInvalid) != errors.Is(want, engine.ErrInvalid) || q.Offset+q.K > 100 && q.Filter.IsZero() && want == nil {
			t.Errorf("page at %d of %d: %v, want %v", q.Offset, q.K, err, want)
		}
	}
	v, _, err := reference.Vector(t.Context(), engine.Query{Text: "topic5 matter3", Variant: "none"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, db, reference, engine.Query{Vector: v, Variant: "none", K: 20})
	for _, f := range Filters() {
		parsed, err := filter.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Count(t.Context(), parsed)
		want, werr := reference.Count(t.Context(), parsed)
		if err != nil || werr != nil || got != want {
			t.Errorf("%s: %d, %v documents; want %d, %v", f, got, err, want, werr)
		}
		for _, mode := range []string{engine.ModeDense, engine.ModeHybrid, engine.ModeLexical} {
			same(t, db, reference, engine.Query{Text: "unit7 about topic3", Mode: mode, Variant: "none", Filter: parsed})
		}
	}
	for _, f := range []engine.Filter{filter.Prefix("id", "doc 01"), filter.Lt("id", "doc 015/é"), filter.Range("id", "doc 001", "doc 1")} {
		q := engine.Query{Text: "unit7 about topic3", Variant: "none", Filter: f}
		if _, err := db.Search(t.Context(), q); errors.Is(err, engine.ErrInvalid) && strings.Contains(err.Error(), "whole ids") {
			continue // an engine that has no order of ids says so
		}
		same(t, db, reference, q)
	}
	for _, id := range []string{docs[7].ID, docs[10].ID, docs[0].ID} {
		explains(t, db, reference, engine.Query{Text: "unit7 about topic3 err_code_2", Variant: "none"}, id)
	}
	batch, err := db.SearchBatch(t.Context(), []engine.Query{{Text: texts[0], Variant: "none"}, {Text: texts[1], Variant: "none"}})
	if err != nil || len(batch) != 2 {
		t.Fatalf("a batch of 2: %d results, %v", len(batch), err)
	}
	for i := range batch {
		one, err := db.Search(t.Context(), engine.Query{Text: texts[i], Variant: "none"})
		if err != nil || !slices.Equal(ids(batch[i].Hits), ids(one.Hits)) {
			t.Errorf("query %d of a batch: %v, alone %v, %v", i, ids(batch[i].Hits), ids(one.Hits), err)
		}
	}
}

// times are timestamps of the test's documents in several forms, and a text that is not a
// timestamp.
var times = []string{"2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00Z", "2024-01-01T00:30:00+02:00", "2023-12-31T23:00:00Z", "2024-01-01", "Mon, 01 Jan 2024 02:00:00 +0200", "soon"}

// Filters are filters of every kind over the metadata of the test's documents.
func Filters() []string {
	return []string{
		"even = true", "not even = true", "n < 10", "n >= 140", "n between 20 and 30.5", "n = 1e1", "name = \"n03\"", "name ^= \"n1\"", "name > \"n15\"",
		"name in [\"n01\", \"n02\", 7]", "deep.x = 1", "deep.x = \"s\"", "deep exists", "deep.x exists", "nothing exists", "rate < 0.15", "rate > 20", "n = null",
		"even = true and (n < 20 or name = \"n18\")", "not (n < 100) and deep.x != 2", "true", "false", "n in []",
		"time < \"2024-01-01T00:00:00Z\"", "time >= \"2024-01-01\"", "time = \"2024-01-01T00:00:00Z\"", "time > \"2024-01-01T00:00:00.4Z\"",
		"id = \"doc 007/é\"", "id in [\"doc 010/é\", \"none\", \"doc 011/é\"] or n = 3", "not id in [\"doc 007/é\", \"doc 010/é\"] and n < 20", "id exists", "id = \"doc 007\"",
		"time between \"2023-12-31T23:00:00Z\" and \"2024-01-01T00:00:00+00:00\"", "time ^= \"2024\"", "time < now",
	}
}

func ids(hits []engine.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = fmt.Sprintf("%s#%d", h.ID, h.Chunk)
	}
	return out
}

// same compares the answers of two databases. Hits of equal score may be in another
// order, and at the end of the page other hits of that score may replace them.
func same(t *testing.T, db, reference engine.Database, q engine.Query) {
	t.Helper()
	got, err := db.Search(t.Context(), q)
	want, werr := reference.Search(t.Context(), q)
	if err != nil || werr != nil {
		t.Errorf("%+v: %v; the reference: %v", q, err, werr)
		return
	}
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("text %q mode %s filter %s k %d: %s\n got %v\nwant %v", q.Text, q.Mode, q.Filter, q.K, fmt.Sprintf(format, args...), ids(got.Hits), ids(want.Hits))
	}
	if len(got.Hits) != len(want.Hits) {
		bad("%d hits, want %d", len(got.Hits), len(want.Hits))
		return
	}
	all := map[string]engine.Hit{}
	for i, h := range want.Hits {
		all[ids(want.Hits[i:])[0]] = h
	}
	last := math.Inf(1)
	if n := len(want.Hits); n > 0 {
		last = float64(want.Hits[n-1].Score)
	}
	for i, h := range got.Hits {
		if d := math.Abs(float64(h.Score - want.Hits[i].Score)); d > near {
			bad("hit %d scores %v, want %v", i, h.Score, want.Hits[i].Score)
			return
		}
		w, ok := all[ids(got.Hits[i:])[0]]
		if !ok {
			tie := math.Abs(float64(h.Score)-last) <= near || q.Offset > 0 && math.Abs(float64(h.Score-want.Hits[0].Score)) <= near || q.Collapse
			if !tie {
				bad("hit %d, %s, is not among those of the reference", i, h.ID)
			}
			continue
		}
		if d := differs(h, w); d != "" {
			bad("hit %d: %s", i, d)
		}
		if h.Rank != q.Offset+i+1 {
			bad("hit %d has rank %d", i, h.Rank)
		}
		if len(h.Duplicates) != len(w.Duplicates) {
			bad("hit %d has duplicates %v, want %v", i, h.Duplicates, w.Duplicates)
		}
	}
	g, w := got.Trace, want.Trace
	if g.Mode != w.Mode || g.Documents != w.Documents || g.Filtered != w.Filtered || g.Tokens != w.Tokens || g.Lexical != w.Lexical || g.Variant != w.Variant || g.Fusion != w.Fusion || math.Abs(float64(g.Turned-w.Turned)) > near {
		bad("trace %+v, want %+v", g, w)
	}
}

// differs says in which field a hit differs from the reference.
func differs(h, w engine.Hit) string {
	for _, x := range []struct {
		name      string
		got, want float32
	}{
		{"score", h.Score, w.Score}, {"cosine", h.Cosine, w.Cosine}, {"modulated", h.Modulated, w.Modulated}, {"bm25", h.BM25, w.BM25},
		{"coverage", h.Coverage, w.Coverage}, {"presence", h.Presence, w.Presence}, {"near", h.Near, w.Near}, {"pair", h.Pair, w.Pair}, {"title", h.TitleMatch, w.TitleMatch},
	} {
		if math.Abs(float64(x.got-x.want)) > near {
			return fmt.Sprintf("%s of %s is %v, want %v", x.name, h.ID, x.got, x.want)
		}
	}
	if h.Title != w.Title || h.Text != w.Text || h.Start != w.Start || h.End != w.End || h.Chunks != w.Chunks || h.Lines != w.Lines || h.Span != w.Span || h.SpanLines != w.SpanLines || fmt.Sprint(h.Metadata) != fmt.Sprint(w.Metadata) {
		return fmt.Sprintf("%+v, want %+v", h, w)
	}
	return ""
}

func explains(t *testing.T, db, reference engine.Database, q engine.Query, id string) {
	t.Helper()
	got, err := db.Explain(t.Context(), q, id)
	want, werr := reference.Explain(t.Context(), q, id)
	if err != nil || werr != nil {
		t.Errorf("explain %s: %v; the reference: %v", id, err, werr)
		return
	}
	if d := differs(got.Hit, want.Hit); d != "" {
		t.Errorf("explain %s: %s", id, d)
	}
	if !slices.Equal(got.Matches, want.Matches) || !slices.EqualFunc(got.Words, want.Words, func(a, b explain.Word) bool {
		return a.Term == b.Term && a.Count == b.Count && a.Documents == b.Documents && math.Abs(a.BM25-b.BM25) < near && math.Abs(a.Most-b.Most) < near
	}) || !slices.Equal(got.Pairs, want.Pairs) || len(got.Terms) != len(want.Terms) || got.Attributed != want.Attributed {
		t.Errorf("explain %s: %+v\nwant %+v", id, got, want)
	}
}
