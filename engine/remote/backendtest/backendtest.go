// Package backendtest tests backends: search engines that keep the documents of a database. [Run] is the
// conformance suite for one backend. [Databases] tests whether a database gives the same answers as an
// embedded one. [Memory] is a backend that keeps everything in memory, with exact results.
package backendtest

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
)

// dim is the dimension of the vectors.
const dim = 32

// near is the tolerance for scores: an engine.Engine rounds the vectors of its encoder to 16 bits.
const near = 5e-5

// Run tests a Backend. Each call of open returns a new Backend without an index; the test closes it.
func Run(t *testing.T, open func(t *testing.T) remote.Backend) {
	Databases(t, func(t *testing.T, enc encoder.Encoder) engine.Database {
		return overFresh(t, open(t), enc, remote.Options{Create: true, ChunkTokens: chunkTokens})
	})
	t.Run("Backend", func(t *testing.T) { backend(t, open(t)) })
	t.Run("Bridge", func(t *testing.T) {
		b := open(t)
		enc := encoder.NewHash(dim)
		r := overFresh(t, b, enc, remote.Options{Create: true, ChunkTokens: chunkTokens})
		reference := embedded(t, enc)
		docs := documents(120)
		fill(t, r, docs)
		fill(t, reference, docs)
		if _, err := r.Search(t.Context(), engine.Query{Text: "topic3", Variant: "rlr"}); !errors.Is(err, engine.ErrNotFitted) {
			t.Errorf("rlr without a bridge: %v", err)
		}
		file := filepath.Join(t.TempDir(), "bridge")
		report, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{Parts: 3})
		stats, serr := reference.Stats(t.Context())
		if err != nil || serr != nil || report.Passages != stats.Chunks {
			t.Fatalf("%+v, %v, %v; want %d passages", report, err, serr, stats.Chunks)
		}
		q := overFresh(t, still{b}, enc, remote.Options{Bridge: file, ChunkTokens: chunkTokens})
		if got := q.Default(); got != "rlr" {
			t.Errorf("default %q with a bridge", got)
		}
		for _, mode := range []string{engine.ModeDense, engine.ModeHybrid} {
			same(t, q, reference, engine.Query{Text: "unit7 about topic3 and matter12", Mode: mode, Variant: "rlr", K: 20})
		}
		bridgeBy(t, b, enc, r, docs)
		if _, err := q.Upsert(t.Context(), []engine.Document{{ID: "new", Text: "a document behind the sums"}}); err != nil {
			t.Fatal(err)
		}
		if res, err := q.Search(t.Context(), engine.Query{Text: "topic3"}); err != nil || res.Trace.Stale != 1 || res.Trace.Variant != "rlr" {
			t.Errorf("after one write: %+v, %v; want one stale", res.Trace, err)
		}
	})
	t.Run("Open", func(t *testing.T) {
		b := open(t)
		if _, err := remote.Over(t.Context(), b, encoder.NewHash(dim), remote.Options{}); !errors.Is(err, engine.ErrNoDatabase) {
			t.Fatalf("nothing created: %v", err)
		}
		overFresh(t, still{b}, encoder.NewHash(dim), remote.Options{Create: true})
		overFresh(t, b, nil, remote.Options{})
		if _, err := remote.Over(t.Context(), b, encoder.NewHash(2*dim), remote.Options{}); !errors.Is(err, encoder.ErrMismatch) {
			t.Errorf("another encoder: %v", err)
		}
		if _, err := remote.Over(t.Context(), b, encoder.NewHash(dim), remote.Options{Language: "de"}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("another language: %v", err)
		}
	})
}

// still is a Backend that several Databases share; only the test closes it.
type still struct{ remote.Backend }

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

// documents are n documents with some common words, all kinds of metadata, and some of several chunks.
func documents(n int) []engine.Document {
	docs := make([]engine.Document, n)
	for i := range docs {
		text := fmt.Sprintf("unit%d speaks of topic%d and of matter%d in a long sentence about item%d.", i, i%7, i%31, i*i%1009)
		if i%5 == 0 {
			for j := range 4 {
				text += fmt.Sprintf("\nHere part%d of unit%d goes on about matter%d and ERR_CODE_%d, a SubjectName of its own.", j, i, (i+j)%31, j)
			}
		}
		docs[i] = engine.Document{ID: fmt.Sprintf("doc %03d/é", i), Title: fmt.Sprintf("Title %d", i%9), Text: text,
			Metadata: map[string]any{"n": i, "even": i%2 == 0, "name": fmt.Sprintf("n%02d", i%20), "deep": map[string]any{"x": []any{i % 3, "s"}}, "rate": float64(i) / 7, "time": times[i%len(times)]}}
		if i%11 == 0 {
			docs[i].Metadata = nil
		}
	}
	// Three that collapse into one.
	docs[1].Text, docs[2].Text = docs[3].Text, docs[3].Text+" yes"
	return docs
}

// overFresh is the query side of b; it requests counts at every search.
func overFresh(t *testing.T, b remote.Backend, enc encoder.Encoder, o remote.Options) *remote.Database {
	t.Helper()
	o.Fresh = -1
	r, err := remote.Over(t.Context(), b, enc, o)
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

// bridgeBy tests bridges of field values: a search whose filter requires one value must equal a search in a
// database of the documents with only that value.
func bridgeBy(t *testing.T, b remote.Backend, enc encoder.Encoder, r *remote.Database, docs []engine.Document) {
	file := filepath.Join(t.TempDir(), "by")
	for path, why := range map[string]string{"n": "more values than there may be", "none": "a field that is not there"} {
		for _, parts := range []int{1, 2} {
			if _, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{By: path, Parts: parts}); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s, %d parts: %v", why, parts, err)
			}
		}
	}
	rep, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{Parts: 2, By: "deep.x"})
	if err != nil || len(rep.By) != 4 || rep.By[0].Where != `deep.x = "s"` {
		t.Fatalf("%+v, %v", rep, err)
	}
	q := overFresh(t, still{b}, enc, remote.Options{Bridge: file, ChunkTokens: chunkTokens})
	two := filter.Eq("deep.x", 2)
	part := embedded(t, enc)
	var with []engine.Document
	for _, d := range docs {
		if met, err := two.Match(d.Metadata); err != nil {
			t.Fatal(err)
		} else if met {
			with = append(with, d)
		}
	}
	fill(t, part, with)
	asked := engine.Query{Text: "unit7 about topic3 and matter12", Mode: engine.ModeDense, Variant: "rlr", K: 20}
	for expr, where := range map[string]string{
		"deep.x = 2":               "deep.x = 2",
		"n > 20 and deep.x = 2.0":  "deep.x = 2",
		`deep.x in [2] and n < 90`: "deep.x = 2",
		"n > 20":                   "",
		"deep.x = 2 or deep.x = 1": "",
		"true":                     "",
		"deep.x = 7":               "",
	} {
		f, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		asked.Filter = f
		res, err := q.Search(t.Context(), asked)
		_, trace, verr := q.Vector(t.Context(), asked)
		if err != nil || verr != nil || res.Trace.BridgeOf != where || trace.BridgeOf != where {
			t.Errorf("%s goes by %q and %q, want %q: %v, %v", f, res.Trace.BridgeOf, trace.BridgeOf, where, err, verr)
		}
		if where == "" {
			continue
		}
		want, err := part.Search(t.Context(), asked)
		if err != nil || len(want.Hits) != len(res.Hits) || len(want.Hits) < 10 {
			t.Fatalf("%s: %d hits, want %d, %v", f, len(res.Hits), len(want.Hits), err)
		}
		for i, h := range want.Hits {
			if math.Abs(float64(h.Score-res.Hits[i].Score)) > near {
				t.Errorf("%s: hit %d has score %v, and %v in a database of its own", f, i, res.Hits[i].Score, h.Score)
			}
		}
	}
}

func fill(t *testing.T, db engine.Database, docs []engine.Document) {
	t.Helper()
	if res, err := db.Add(t.Context(), docs); err != nil || res.Added != len(docs) {
		t.Fatalf("adding %d documents: %+v, %v", len(docs), res, err)
	}
}

// Databases tests that databases give the same answers as an embedded one. open returns an empty database for an
// encoder, with chunks of 24 tokens, and without token states or a bridge.
func Databases(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	t.Run("Search", func(t *testing.T) { searches(t, open) })
	t.Run("Operators", func(t *testing.T) { operators(t, open) })
	t.Run("Facets", func(t *testing.T) { facets(t, open) })
	t.Run("Similar", func(t *testing.T) { similar(t, open) })
	t.Run("Fields", func(t *testing.T) { fields(t, open) })
	t.Run("Write", func(t *testing.T) { writes(t, open) })
	t.Run("Refuse", func(t *testing.T) { refusals(t, open) })
}
