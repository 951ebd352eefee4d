//go:build unix

package index_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// BenchmarkSearchWhileAdding times searches alone and beside a goroutine that
// adds vectors, deletes some and adds them again without a pause: medians and
// 99th percentiles in microseconds. Use -benchtime 1x. Two cores are needed.
func BenchmarkSearchWhileAdding(b *testing.B) {
	s := bench()
	more := indextest.TextLike(s.n+s.n/2, s.dim, 1)[s.n*s.dim:]
	for _, batch := range []int{1, 1000} {
		ix := build(s, "hnsw-int8", 1)
		b.Run(map[int]string{1: "one by one", 1000: "1000 at once"}[batch], func(b *testing.B) {
			for b.Loop() {
				search := func(until func() bool) []float64 {
					var us []float64
					var dst []index.Neighbor
					for i := 0; !until(); i++ {
						j := i % len(s.truth)
						start := time.Now()
						dst, _ = ix.Search(dst[:0], s.queries[j*s.dim:(j+1)*s.dim], index.SearchOptions{K: 10, Ef: 24})
						us = append(us, float64(time.Since(start).Nanoseconds())/1000)
					}
					slices.Sort(us)
					return us
				}
				first := time.Now()
				alone := search(func() bool { return time.Since(first) > 2*time.Second })
				stop := make(chan struct{})
				var writer sync.WaitGroup
				writer.Go(func() {
					n := len(more) / s.dim
					for at := 0; ; at = (at + batch) % (n - batch) {
						select {
						case <-stop:
							return
						default:
						}
						if err := ix.Add(indextest.IDs(batch, uint64(s.n+at)), more[at*s.dim:(at+batch)*s.dim]); err != nil {
							b.Error(err)
							return
						}
						if at%5 == 0 {
							ix.Delete(indextest.IDs(batch/2, uint64(s.n+at)))
						}
					}
				})
				start := time.Now()
				beside := search(func() bool { return time.Since(start) > 6*time.Second })
				close(stop)
				writer.Wait()
				at := func(us []float64, q float64) float64 { return us[int(q*float64(len(us)))] }
				b.ReportMetric(at(alone, .5), "alone-p50-µs")
				b.ReportMetric(at(alone, .99), "alone-p99-µs")
				b.ReportMetric(at(beside, .5), "p50-µs")
				b.ReportMetric(at(beside, .99), "p99-µs")
				b.ReportMetric(at(beside, .999), "p999-µs")
				b.ReportMetric(at(beside, .99)/at(beside, .5), "p99/p50")
			}
		})
	}
}

// BenchmarkTwoSearchers reports how many searches two goroutines do in the
// time in which one does one, of the best of ten turns each.
func BenchmarkTwoSearchers(b *testing.B) {
	s := bench()
	for name, ix := range map[string]index.Index{"hnsw": s.get("hnsw"), "hnsw-int8": s.get("hnsw-int8")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var best [3]float64 // searches a second by goroutines
				for range 10 {
					for g := 1; g <= 2; g++ {
						var all sync.WaitGroup
						start := time.Now()
						const each = 4000
						for range g {
							all.Go(func() {
								var dst []index.Neighbor
								for i := range each {
									j := i % len(s.truth)
									dst, _ = ix.Search(dst[:0], s.queries[j*s.dim:(j+1)*s.dim], index.SearchOptions{K: 10, Ef: 24})
								}
							})
						}
						all.Wait()
						best[g] = max(best[g], float64(g*each)/time.Since(start).Seconds())
					}
				}
				b.ReportMetric(best[2]/best[1], "two/one")
			}
		})
	}
}
