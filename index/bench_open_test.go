//go:build unix

package index_test

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/store"
)

// BenchmarkOpen opens a snapshot file as an engine does: map it, verify every
// byte, make what is not in it. The page cache is warm; open-s is the best run.
func BenchmarkOpen(b *testing.B) {
	s := bench()
	for _, kind := range []string{"flat-int8", "hnsw-int8"} {
		b.Run(kind, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.snap")
			h := store.SnapshotHeader{Kind: kind, Version: 1}
			err := store.WriteSnapshot(path, h, func(w io.Writer) error {
				_, err := s.get(kind).(index.Snapshotter).WriteTo(w)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			best, verify := 1e9, 1e9
			for b.Loop() {
				start := time.Now()
				f, err := store.OpenSnapshot(path, kind, 1, h.UUID)
				if err != nil {
					b.Fatal(err)
				}
				verified := time.Since(start).Seconds()
				if _, err := index.Map(kind, index.Options{Dim: s.dim, Seed: 1}, f.Data); err != nil {
					b.Fatal(err)
				}
				best, verify = min(best, time.Since(start).Seconds()), min(verify, verified)
				f.Close()
			}
			b.ReportMetric(best, "open-s")
			b.ReportMetric(verify, "file-s")
		})
	}
}
