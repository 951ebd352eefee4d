// Package backendtest tests whether a Backend keeps what engine.Backend promises, and
// whether a database answers as an embedded one does.
package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
)

// dim is the dimension of the vectors.
const dim = 32

// near is how much scores may differ: vectors are float32 there and here.
const near = 1e-5

// Run tests a Backend. open returns one in which nothing was created, of its own for each call; it is closed by
// the test.
func Run(t *testing.T, open func(t *testing.T) engine.Backend) {
	over := func(t *testing.T, b engine.Backend, enc encoder.Encoder, o engine.OverOptions) *engine.Remote {
		t.Helper()
		o.Fresh = -1
		r, err := engine.Over(t.Context(), b, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		return r
	}
	Databases(t, func(t *testing.T, enc encoder.Encoder) engine.Database {
		return over(t, open(t), enc, engine.OverOptions{Create: true, ChunkTokens: chunkTokens})
	})
	t.Run("Backend", func(t *testing.T) { backend(t, open(t)) })
	t.Run("Bridge", func(t *testing.T) {
		b := open(t)
		enc := encoder.NewHash(dim)
		r := over(t, b, enc, engine.OverOptions{Create: true, ChunkTokens: chunkTokens})
		reference := embedded(t, enc)
		docs := documents(120)
		fill(t, r, docs)
		fill(t, reference, docs)
		if _, err := r.Search(t.Context(), engine.Query{Text: "topic3", Variant: "rlr"}); !errors.Is(err, engine.ErrNotFitted) {
			t.Errorf("rlr without a bridge: %v", err)
		}
		file := filepath.Join(t.TempDir(), "bridge")
		report, err := r.MakeBridge(t.Context(), file, 3, nil)
		stats, serr := reference.Stats(t.Context())
		if err != nil || serr != nil || report.Passages != stats.Chunks {
			t.Fatalf("%+v, %v, %v; want %d passages", report, err, serr, stats.Chunks)
		}
		q := over(t, still{b}, enc, engine.OverOptions{Bridge: file, ChunkTokens: chunkTokens})
		if got := q.Default(); got != "rlr" {
			t.Errorf("default %q with a bridge", got)
		}
		for _, mode := range []string{engine.ModeDense, engine.ModeHybrid} {
			same(t, q, reference, engine.Query{Text: "unit7 about topic3 and matter12", Mode: mode, Variant: "rlr", K: 20})
		}
		if _, err := q.Upsert(t.Context(), []engine.Document{{ID: "new", Text: "a document behind the sums"}}); err != nil {
			t.Fatal(err)
		}
		if res, err := q.Search(t.Context(), engine.Query{Text: "topic3"}); err != nil || res.Trace.Stale != 1 || res.Trace.Variant != "rlr" {
			t.Errorf("after one write: %+v, %v; want one stale", res.Trace, err)
		}
	})
	t.Run("Open", func(t *testing.T) {
		b := open(t)
		if _, err := engine.Over(t.Context(), b, encoder.NewHash(dim), engine.OverOptions{}); !errors.Is(err, engine.ErrNoDatabase) {
			t.Fatalf("nothing created: %v", err)
		}
		over(t, still{b}, encoder.NewHash(dim), engine.OverOptions{Create: true})
		over(t, b, nil, engine.OverOptions{})
		if _, err := engine.Over(t.Context(), b, encoder.NewHash(2*dim), engine.OverOptions{}); !errors.Is(err, encoder.ErrMismatch) {
			t.Errorf("another encoder: %v", err)
		}
		if _, err := engine.Over(t.Context(), b, encoder.NewHash(dim), engine.OverOptions{Language: "de"}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("another language: %v", err)
		}
	})
}

// still is a Backend that several Remotes share: who closes it last is the test.
type still struct{ engine.Backend }

func (still) Close() error { return nil }

const chunkTokens = 24

func embedded(t *testing.T, enc encoder.Encoder) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{TokenStates: engine.TokenStatesOff, ChunkTokens: chunkTokens, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// documents are n of them with words that some share, metadata of all kinds, and some that are
// stored in chunks.
func documents(n int) []engine.Document {
	docs := make([]engine.Document, n)
	for i := range docs {
		text := fmt.Sprintf("unit%d speaks of topic%d and of matter%d in a long sentence about item%d.", i, i%7, i%31, i*i%1009)
		if i%5 == 0 {
			for j := range 4 {
				text += fmt.Sprintf("\nHere part%d of unit%d goes on about matter%d and ERR_CODE_%d, a subject of its own.", j, i, (i+j)%31, j)
			}
		}
		docs[i] = engine.Document{ID: fmt.Sprintf("doc %03d/é", i), Title: fmt.Sprintf("Title %d", i%9), Text: text,
			Metadata: map[string]any{"n": i, "even": i%2 == 0, "name": fmt.Sprintf("n%02d", i%20), "deep": map[string]any{"x": []any{i % 3, "s"}}, "rate": float64(i) / 7}}
		if i%11 == 0 {
			docs[i].Metadata = nil
		}
	}
	// Three that collapse into one.
	docs[1].Text, docs[2].Text = docs[3].Text, docs[3].Text+" yes"
	return docs
}

func fill(t *testing.T, db engine.Database, docs []engine.Document) {
	t.Helper()
	if res, err := db.Add(t.Context(), docs); err != nil || res.Added != len(docs) {
		t.Fatalf("adding %d documents: %+v, %v", len(docs), res, err)
	}
}

// Databases tests whether databases answer as an embedded one does: open returns an
// empty one for an encoder, without token states and without a bridge, whose chunks have 24 tokens.
func Databases(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	t.Run("Search", func(t *testing.T) { searches(t, open) })
	t.Run("Write", func(t *testing.T) { writes(t, open) })
	t.Run("Refuse", func(t *testing.T) { refusals(t, open) })
}

func searches(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	enc := encoder.NewHash(dim)
	db, reference := open(t, enc), embedded(t, enc)
	docs := documents(150)
	fill(t, db, docs)
	fill(t, reference, docs)
	// Documents that came and went must leave nothing behind.
	gone := []engine.Document{{ID: "gone", Text: "topic3 topic3 unit7"}}
	fill(t, db, gone)
	if n, err := db.Delete(t.Context(), []string{"gone", "never there"}); n != 1 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	texts := []string{"unit7 about topic3", "topic3", "matter12 of a sentence about item49", "err code 2", "ERR_CODE_2", "unheard words only", "part2 of unit35 goes on", "the of and"}
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

// Filters are expressions over the metadata of the test's documents, of every kind.
func Filters() []string {
	return []string{
		"even = true", "not even = true", "n < 10", "n >= 140", "n between 20 and 30.5", "n = 1e1", "name = \"n03\"", "name ^= \"n1\"", "name > \"n15\"",
		"name in [\"n01\", \"n02\", 7]", "deep.x = 1", "deep.x = \"s\"", "deep exists", "deep.x exists", "nothing exists", "rate < 0.15", "rate > 20", "n = null",
		"even = true and (n < 20 or name = \"n18\")", "not (n < 100) and deep.x != 2", "true", "false", "n in []",
	}
}

func ids(hits []engine.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = fmt.Sprintf("%s#%d", h.ID, h.Chunk)
	}
	return out
}

// same compares the answers of two databases. Hits of equal score may stand in another
// order, and at the end of the page others may stand in their place.
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

// differs says in what a hit is another than that of the reference.
func differs(h, w engine.Hit) string {
	for _, x := range []struct {
		name      string
		got, want float32
	}{
		{"score", h.Score, w.Score}, {"cosine", h.Cosine, w.Cosine}, {"modulated", h.Modulated, w.Modulated}, {"bm25", h.BM25, w.BM25},
		{"coverage", h.Coverage, w.Coverage}, {"presence", h.Presence, w.Presence}, {"pair", h.Pair, w.Pair},
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
	if !slices.Equal(got.Matches, want.Matches) || !slices.EqualFunc(got.Words, want.Words, func(a, b engine.WordShare) bool {
		return a.Term == b.Term && a.Count == b.Count && a.Documents == b.Documents && math.Abs(a.BM25-b.BM25) < near && math.Abs(a.Most-b.Most) < near
	}) || !slices.Equal(got.Pairs, want.Pairs) || len(got.Terms) != len(want.Terms) || got.Attributed != want.Attributed {
		t.Errorf("explain %s: %+v\nwant %+v", id, got, want)
	}
}

func writes(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	ctx := t.Context()
	docs := documents(12)
	fill(t, db, docs)
	get := func(id string) engine.Document {
		t.Helper()
		d, err := db.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, d := range docs {
		if g := get(d.ID); g.Title != d.Title || g.Text != d.Text || fmt.Sprint(g.Metadata) != fmt.Sprint(d.Metadata) || (len(g.Vector) == dim) == (len(d.Text) > 200) {
			t.Errorf("%+v comes back as %+v", d, g)
		}
	}
	if _, err := db.Add(ctx, docs[:1]); !errors.Is(err, engine.ErrExists) {
		t.Errorf("adding what is there: %v", err)
	}
	var one *engine.DocumentError
	if _, err := db.Add(ctx, []engine.Document{{ID: "x", Text: "a"}, {ID: "x", Text: "b"}}); !errors.Is(err, engine.ErrExists) || !errors.As(err, &one) || one.Position != 1 {
		t.Errorf("an id twice: %v", err)
	}
	if res, err := db.Upsert(ctx, docs); err != nil || res.Unchanged != len(docs) || res.Replaced+res.Added != 0 {
		t.Errorf("the same again: %+v, %v", res, err)
	}
	// Another text has another vector.
	other := docs[7]
	other.Text = "an altogether different subject: volcanoes"
	if res, err := db.Upsert(ctx, []engine.Document{other}); err != nil || res.Replaced != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if res, err := db.Search(ctx, engine.Query{Text: other.Title + " " + other.Text, Mode: engine.ModeDense, Variant: "none", K: 1}); err != nil || res.Hits[0].ID != other.ID || res.Hits[0].Cosine < .99 {
		t.Errorf("by the text that a document has now: %+v, %v", res.Hits, err)
	}
	// A document in chunks becomes one without, and back.
	long, short := docs[5], docs[5]
	short.Text = "short now"
	for _, d := range []engine.Document{short, long, short} {
		if res, err := db.Upsert(ctx, []engine.Document{d}); err != nil || res.Replaced != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if g := get(d.ID); g.Text != d.Text {
			t.Errorf("%q, want %q", g.Text, d.Text)
		}
		s, err := db.Stats(ctx)
		want := 12 + 4*2
		if d.Text == short.Text {
			want -= 4
		}
		if err != nil || s.Documents != 12 || s.Chunks < 12 || d.Text == long.Text && s.Chunks <= 12+4 {
			t.Errorf("%d documents, %d chunks (about %d), %v", s.Documents, s.Chunks, want, err)
		}
	}
	if res, err := db.Search(ctx, engine.Query{Text: "part3 of unit5 goes on", Mode: engine.ModeLexical, Variant: "none"}); err != nil || slices.ContainsFunc(res.Hits, func(h engine.Hit) bool { return h.ID == long.ID }) {
		t.Errorf("a chunk of a replaced version is found: %v, %v", ids(res.Hits), err)
	}
	if n, err := db.Patch(ctx, []engine.Patch{{ID: docs[3].ID, Metadata: map[string]any{"n": nil, "new": "x"}}, {ID: docs[10].ID, Metadata: map[string]any{"new": "x"}}}); n != 2 || err != nil {
		t.Errorf("patched %d, %v", n, err)
	}
	if g := get(docs[3].ID); g.Metadata["n"] != nil || g.Metadata["new"] != "x" || g.Text != docs[3].Text {
		t.Errorf("patched: %+v", g)
	}
	if _, err := db.Patch(ctx, []engine.Patch{{ID: "nobody", Metadata: map[string]any{"a": 1}}}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("patch of nobody: %v", err)
	}
	if res, err := db.Search(ctx, engine.Query{Text: "topic3", Variant: "none", Filter: filter.Eq("new", "x")}); err != nil || len(res.Hits) != 2 {
		t.Errorf("found by what was patched: %v, %v", ids(res.Hits), err)
	}
	if n, err := db.DeleteWhere(ctx, filter.Eq("new", "x")); n != 2 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if _, err := db.Get(ctx, docs[3].ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a deleted document: %v", err)
	}
	// What comes with a vector keeps it, and all of Unicode goes there and back.
	v := make([]float32, dim)
	v[3] = 2
	odd := engine.Document{ID: "odd\t\"\\\u2028日本", Text: "line one\r\nline\u0000two \U0001f600", Vector: v, Metadata: map[string]any{"big": json.Number("9007199254740993.000000001"), "k.\u0000": []any{}, "": nil}}
	if res, err := db.Upsert(ctx, []engine.Document{odd}); err != nil || res.Added != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if g := get(odd.ID); g.Text != odd.Text || g.Vector[3] != 1 || fmt.Sprint(g.Metadata) != fmt.Sprint(odd.Metadata) {
		t.Errorf("%+v comes back as %+v", odd, g)
	}
	n := 0
	for d, err := range db.All(ctx, engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; d.ID == "" {
			t.Error("a document without an id")
		}
	}
	if n != 11 {
		t.Errorf("%d documents, want 11", n)
	}
}

func refusals(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	fill(t, db, documents(5))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		call func(ctx context.Context) error
		want error
	}{
		"empty query": {func(ctx context.Context) error { _, err := db.Search(ctx, engine.Query{}); return err }, engine.ErrInvalid},
		"no such mode": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Text: "a", Mode: "x"})
			return err
		}, engine.ErrInvalid},
		"short vector": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Vector: []float32{1}})
			return err
		}, engine.ErrInvalid},
		"bad filter": {func(ctx context.Context) error { _, err := db.Count(ctx, filter.Lt("a", true)); return err }, engine.ErrInvalid},
		"unknown id": {func(ctx context.Context) error { _, err := db.Get(ctx, "nobody"); return err }, engine.ErrNotFound},
		"explain nobody": {func(ctx context.Context) error {
			_, err := db.Explain(ctx, engine.Query{Text: "a"}, "nobody")
			return err
		}, engine.ErrNotFound},
		"empty id":   {func(ctx context.Context) error { _, err := db.Upsert(ctx, []engine.Document{{Text: "a"}}); return err }, engine.ErrInvalid},
		"no text":    {func(ctx context.Context) error { _, err := db.Upsert(ctx, []engine.Document{{ID: "a"}}); return err }, engine.ErrInvalid},
		"delete all": {func(ctx context.Context) error { _, err := db.DeleteWhere(ctx, engine.Filter{}); return err }, engine.ErrInvalid},
		"no reranker": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Text: "a", Rerank: 3})
			return err
		}, engine.ErrNoReranker},
	} {
		if err := c.call(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	for what, call := range map[string]func() error{
		"search": func() error { _, err := db.Search(ended, engine.Query{Text: "topic3", Variant: "none"}); return err },
		"add":    func() error { _, err := db.Add(ended, []engine.Document{{ID: "late", Text: "a"}}); return err },
		"get":    func() error { _, err := db.Get(ended, "doc 001/é"); return err },
		"count":  func() error { _, err := db.Count(ended, engine.Filter{}); return err },
		"all": func() (err error) {
			for _, err = range db.All(ended, engine.Filter{}) {
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", what, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Search(t.Context(), engine.Query{Text: "a"}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := db.Add(t.Context(), documents(5)); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("add after Close: %v", err)
	}
}

// backend tests what only a Backend shows.
func backend(t *testing.T, b engine.Backend) {
	ctx := t.Context()
	info := engine.BackendInfo{Dim: 4, Language: "en", Analysis: "a test"}
	if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
		t.Fatalf("nothing created: %v", err)
	}
	if err := b.Create(ctx, info); err != nil {
		t.Fatal(err)
	}
	if err := b.Create(ctx, info); !errors.Is(err, engine.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	if got, err := b.Info(ctx); err != nil || got.Dim != 4 || got.Analysis != "a test" {
		t.Errorf("%+v, %v", got, err)
	}
	if s, err := b.Status(ctx); err != nil || s.Documents+s.Passages != 0 {
		t.Errorf("an empty one: %+v, %v", s, err)
	}
	vectors := [][]float32{{1, 0, 0, 0}, {0, 1, 0, 0}, {.6, .8, 0, 0}, {0, 0, -1, 0}}
	doc := func(id string, terms ...string) []engine.Passage {
		var ps []engine.Passage
		for i, s := range terms {
			ps = append(ps, engine.Passage{PassageID: engine.PassageID{ID: id, Chunk: i}, Chunks: len(terms), Text: s, Line: 1, Vector: vectors[(len(id)+i)%4],
				Terms: s, Length: len(strings.Fields(s)), Metadata: `{"id": "` + id + `"}`})
		}
		return ps
	}
	docs := [][]engine.Passage{doc("a", "x y", "x z  y"), doc("bb", "x"), doc("ccc", "z z z"), doc("dddd", "")}
	if err := b.Put(ctx, docs, true); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(ctx, docs[1:2], true); !errors.Is(err, engine.ErrExists) {
		t.Errorf("put again as fresh: %v", err)
	}
	s, err := b.Status(ctx)
	if err != nil || s.Documents != 4 || s.Passages != 5 || s.Terms != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	if n, err := b.Having(ctx, []string{"x", "y", "z", "nobody"}); err != nil || !slices.Equal(n, []int{3, 2, 2, 0}) {
		t.Errorf("having: %v, %v", n, err)
	}
	got, err := b.Cosines(ctx, []float32{.6, .8, 0, 0}, []engine.PassageID{{ID: "a"}, {ID: "a", Chunk: 1}, {ID: "a", Chunk: 2}, {ID: "nobody"}, {ID: "bb"}})
	if err != nil || len(got) != 5 || math.Abs(got[0]-.8) > 1e-6 || math.Abs(got[1]-1) > 1e-6 || !math.IsNaN(got[2]) || !math.IsNaN(got[3]) || math.Abs(got[4]-1) > 1e-6 {
		t.Errorf("cosines: %v, %v", got, err)
	}
	ps, err := b.Fetch(ctx, []engine.PassageID{{ID: "nobody"}, {ID: "a", Chunk: 1}}, true)
	if err != nil || len(ps) != 2 || ps[0] != nil || ps[1].Text != "x z  y" || ps[1].Terms != "x z  y" || !slices.Equal(ps[1].Vector, vectors[2]) || ps[1].Metadata != `{"id": "a"}` || ps[1].Chunks != 2 {
		t.Errorf("fetch: %+v, %v", ps, err)
	}
	// All scans go through documents in one order, and through chunks in theirs.
	scan := func(o engine.ScanOptions) (seen []string) {
		for p, err := range b.Scan(ctx, engine.Filter{}, o) {
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Vector) != 4 {
				t.Errorf("%s: vector %v", p.ID, p.Vector)
			}
			seen = append(seen, fmt.Sprintf("%s#%d", p.ID, p.Chunk))
		}
		return seen
	}
	all := scan(engine.ScanOptions{})
	if sorted := slices.Sorted(slices.Values(all)); !slices.Equal(sorted, []string{"a#0", "a#1", "bb#0", "ccc#0", "dddd#0"}) || slices.Index(all, "a#0")+1 != slices.Index(all, "a#1") {
		t.Errorf("a scan: %v", all)
	}
	for _, parts := range []int{1, 3} {
		var seen []string
		for part := range parts {
			some := scan(engine.ScanOptions{Part: part, Parts: parts})
			if !slices.IsSortedFunc(some, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) }) {
				t.Errorf("part %d of %d: %v, of %v", part, parts, some, all)
			}
			seen = append(seen, some...)
		}
		if slices.Sort(seen); !slices.Equal(seen, slices.Sorted(slices.Values(all))) {
			t.Errorf("%d parts: %v", parts, seen)
		}
	}
	for i, at := range all {
		if id, _, _ := strings.Cut(at, "#"); id != "a" || at == "a#1" {
			if rest := scan(engine.ScanOptions{After: id}); !slices.Equal(rest, all[i+1:]) {
				t.Errorf("behind %s: %v, want %v", id, rest, all[i+1:])
			}
		}
	}
	before := s.Writes
	if n, err := b.Delete(ctx, []string{"a", "nobody"}); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	s, err = b.Status(ctx)
	if err != nil || s.Documents != 3 || s.Passages != 3 || s.Terms != 4 || s.Writes != before+2 {
		t.Errorf("after a delete: %+v, %v; want 2 writes more than %d", s, err, before)
	}
	if n, err := b.Having(ctx, []string{"x"}); err != nil || n[0] != 1 {
		t.Errorf("having after a delete: %v, %v", n, err)
	}
}
