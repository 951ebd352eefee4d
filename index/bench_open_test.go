//go:build unix

package index_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// BenchmarkOpen opens a snapshot file as an engine does, and asks it once. The
// page cache is warm; the figures are those of the best run.
func BenchmarkOpen(b *testing.B) {
	s := bench()
	for _, kind := range []string{"flat-int8", "hnsw-int8"} {
		b.Run(kind, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.snap")
			if err := snapshot.Write(path, snapshot.Header{Kind: "vectors", Version: 1}, s.get(kind).Save); err != nil {
				b.Fatal(err)
			}
			best, first := 1e9, 1e9
			for b.Loop() {
				start := time.Now()
				f, err := snapshot.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				ix, err := index.Open(kind, index.Options{Dim: s.dim, Seed: 1}, f)
				if err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start).Seconds())
				start = time.Now()
				if _, err := ix.Search(nil, s.query(0), index.SearchOptions{K: 10}); err != nil {
					b.Fatal(err)
				}
				first = min(first, time.Since(start).Seconds())
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(best*1e3, "open-ms")
			b.ReportMetric(first*1e3, "first-search-ms")
		})
	}
}
