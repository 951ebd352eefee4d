package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
	"github.com/lexsem/lexsem/store"
)

// BenchmarkOpen times opening a database of LEXSEM_BENCH_VECTORS documents
// (20,000) with hnsw-int8: as Close left it, a thousand documents behind after
// a kill, without the index's snapshot, and without any. badger-s is what of
// it the store takes by itself. Run it with -benchtime 1x.
func BenchmarkOpen(b *testing.B) {
	n, behind := 20_000, 1000
	if s := os.Getenv("LEXSEM_BENCH_VECTORS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	const dim = 384
	vectors := indextest.TextLike(n+behind, dim, 1)
	rng := rand.New(rand.NewPCG(3, 3))
	documents := func(from, to int) (docs []engine.Document) {
		for i := from; i < to; i++ {
			var s strings.Builder
			for range 40 {
				fmt.Fprintf(&s, "w%d ", int(20_000*rng.Float64()*rng.Float64()*rng.Float64()))
			}
			docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: s.String(), Vector: vectors[i*dim : (i+1)*dim]})
		}
		return docs
	}
	open := func(dir string) *engine.Engine {
		e, err := engine.Open(b.Context(), dir, encoder.NewHash(dim), engine.Options{Index: "hnsw-int8"})
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	clean, killed := filepath.Join(b.TempDir(), "clean"), filepath.Join(b.TempDir(), "killed")
	e := open(clean)
	for at := 0; at < n; at += 5000 {
		if _, err := e.Add(b.Context(), documents(at, min(n, at+5000))); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	e = open(clean)
	if _, err := e.Add(b.Context(), documents(n, n+behind)); err != nil {
		b.Fatal(err)
	}
	if err := os.CopyFS(killed, os.DirFS(clean)); err != nil { // what a kill would leave
		b.Fatal(err)
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, from, without string }{
		{"closed", clean, ""}, {"behind", killed, ""}, {"no-index", clean, "hnsw-int8.snap"}, {"nothing", clean, "*.snap"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "db")
				if err := os.CopyFS(dir, os.DirFS(c.from)); err != nil {
					b.Fatal(err)
				}
				if c.without != "" {
					gone, err := filepath.Glob(filepath.Join(dir, "derived", c.without))
					if err != nil || len(gone) == 0 {
						b.Fatalf("no snapshot %s: %v", c.without, err)
					}
					for _, file := range gone {
						if err := os.Remove(file); err != nil {
							b.Fatal(err)
						}
					}
				}
				start := time.Now()
				st, err := store.Open(dir, store.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(start).Seconds(), "badger-s")
				if err := st.Close(); err != nil {
					b.Fatal(err)
				}
				start = time.Now()
				e := open(dir)
				b.ReportMetric(time.Since(start).Seconds(), "open-s")
				if err := e.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
