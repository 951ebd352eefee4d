package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// BenchmarkSearchDuringAdd times searches alone and beside a goroutine that
// adds documents a thousand a commit: the medians and the 99th percentiles in
// microseconds. Run it with -benchtime 1x.
func BenchmarkSearchDuringAdd(b *testing.B) {
	const stored, commits, perCommit = 20_000, 5, 1000
	rng := rand.New(rand.NewPCG(7, 7))
	long := func(lo, n int) []engine.Document {
		d := make([]engine.Document, n)
		var s strings.Builder
		for i := range d {
			s.Reset()
			for range 80 {
				fmt.Fprintf(&s, "w%d ", int(20_000*rng.Float64()*rng.Float64()*rng.Float64()))
			}
			d[i] = engine.Document{ID: fmt.Sprint(lo + i), Text: s.String()}
		}
		return d
	}
	for _, kind := range []string{"flat-int8", "hnsw-int8"} {
		b.Run(kind, func(b *testing.B) {
			e, err := engine.Open(b.Context(), b.TempDir(), hash(b), engine.Options{Index: kind, NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			if _, err := e.Add(b.Context(), long(0, stored)); err != nil {
				b.Fatal(err)
			}
			queries := long(0, 64)
			run := func(until func(n int) bool) (us []float64) {
				for n := 0; !until(n); n++ {
					start := time.Now()
					if _, err := e.Search(b.Context(), engine.Query{Text: queries[n%len(queries)].Text[:40]}); err != nil {
						b.Fatal(err)
					}
					us = append(us, float64(time.Since(start).Microseconds()))
				}
				slices.Sort(us)
				return us
			}
			for b.Loop() {
				alone := run(func(n int) bool { return n == 3000 })
				var done atomic.Bool
				go func() {
					defer done.Store(true)
					for c := range commits {
						if _, err := e.Upsert(b.Context(), long(stored+c*perCommit/2, perCommit)); err != nil {
							b.Error(err)
						}
					}
				}()
				beside := run(func(int) bool { return done.Load() })
				for name, us := range map[string][]float64{"alone": alone, "beside": beside} {
					b.ReportMetric(us[len(us)/2], name+"-p50-us")
					b.ReportMetric(us[len(us)*99/100], name+"-p99-us")
					b.ReportMetric(us[len(us)-1], name+"-max-us")
				}
			}
		})
	}
}
