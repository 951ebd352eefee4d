package engine_test

import (
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// BenchmarkUpsertBesideGraph adds 1, 10 and 100 documents with vectors of their own to
// a database of 60,000, whose index is a graph that has caught up.
func BenchmarkUpsertBesideGraph(b *testing.B) {
	const n, dim, some = 60_000, 384, 10_000
	vectors := indextest.TextLike(n+some, dim, 1)
	document := func(i int) engine.Document {
		at := i % (n + some) * dim
		return engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("w%d x%d y%d", i%5000, i%900, i%90), Vector: vectors[at : at+dim]}
	}
	e, err := engine.Open(b.Context(), b.TempDir(), encoder.NewHash(dim), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	next := 0
	put := func(k int) {
		docs := make([]engine.Document, k)
		for i := range docs {
			docs[i] = document(next)
			next++
		}
		if _, err := e.Upsert(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	for next < n {
		put(2000)
	}
	for _, k := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := e.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				put(k)
			}
		})
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
}
