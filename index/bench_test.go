//go:build unix

package index_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/indextest"
)

// benchSize is the number of vectors in the benchmarks; set
// LEXSEM_BENCH_VECTORS for another.
func benchSize() int {
	if n, err := strconv.Atoi(os.Getenv("LEXSEM_BENCH_VECTORS")); err == nil && n > 0 {
		return n
	}
	return 20000
}

// cpuTime is the processor time of this process in seconds: what a figure is
// worth on a machine that does other things as well.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

type benchSet struct {
	n, dim  int
	ids     []uint64
	vectors []float32
	queries []float32
	truth   [][]index.Neighbor
	flat    index.Index
	hnsw    index.Index
	coded   map[string]index.Index // with int8 codes
}

var bench = sync.OnceValue(func() *benchSet {
	s := &benchSet{n: benchSize(), dim: 384}
	const queries = 500
	s.vectors = indextest.TextLike(s.n, s.dim, 1)
	s.queries = indextest.TextLikeQueries(queries, s.dim, 1)
	s.ids = ids(s.n, 0)
	s.flat = build(s, "flat", 2)
	s.hnsw = build(s, "hnsw", 2)
	s.coded = map[string]index.Index{"flat-int8": build(s, "flat-int8", 2), "hnsw-int8": build(s, "hnsw-int8", 2)}
	s.truth = make([][]index.Neighbor, queries)
	if err := s.flat.(index.BatchSearcher).SearchBatch(s.truth, s.queries, index.SearchOptions{K: 10}); err != nil {
		panic(err)
	}
	return s
})

func build(s *benchSet, kind string, workers int) index.Index {
	ix, err := index.New(kind, index.Options{Dim: s.dim, Seed: 1, Workers: workers})
	if err == nil {
		err = ix.Add(s.ids, s.vectors)
	}
	if err != nil {
		panic(err)
	}
	return ix
}

func BenchmarkSearch(b *testing.B) {
	s := bench()
	search := func(name string, ix index.Index, ef int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []index.Neighbor
			hits, asked := 0, 0
			start := cpuTime()
			for i := 0; b.Loop(); i++ {
				j := i % len(s.truth)
				var err error
				dst, err = ix.Search(dst[:0], s.queries[j*s.dim:(j+1)*s.dim], index.SearchOptions{K: 10, Ef: ef})
				if err != nil {
					b.Fatal(err)
				}
				if i < len(s.truth) {
					hits += common(s.truth[j], dst)
					asked += 10
				}
			}
			b.ReportMetric(float64(b.N)/(cpuTime()-start), "queries/cpu-s")
			b.ReportMetric(float64(hits)/float64(asked), "recall@10")
		})
	}
	search("flat", s.flat, 0)
	search("flat-int8", s.coded["flat-int8"], 0)
	for _, ef := range []int{10, 16, 24, 32, 64, 128} {
		search(fmt.Sprintf("hnsw/ef=%d", ef), s.hnsw, ef)
		search(fmt.Sprintf("hnsw-int8/ef=%d", ef), s.coded["hnsw-int8"], ef)
	}
	b.Run("flat/batch=500", func(b *testing.B) {
		dst := make([][]index.Neighbor, len(s.truth))
		start := cpuTime()
		for b.Loop() {
			if err := s.flat.(index.BatchSearcher).SearchBatch(dst, s.queries, index.SearchOptions{K: 10}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*len(dst))/(cpuTime()-start), "queries/cpu-s")
	})
}

func BenchmarkFiltered(b *testing.B) {
	s := bench()
	for _, keep := range []uint64{2, 10, 100, 1000} {
		allow := func(id uint64) bool { return id*0x9e3779b97f4a7c15>>32%keep == 0 }
		for name, ix := range map[string]index.Index{"flat": s.flat, "hnsw": s.hnsw} {
			b.Run(fmt.Sprintf("keep=1in%d/%s", keep, name), func(b *testing.B) {
				b.ReportAllocs()
				var dst []index.Neighbor
				for i := 0; b.Loop(); i++ {
					j := i % len(s.truth)
					dst, _ = ix.Search(dst[:0], s.queries[j*s.dim:(j+1)*s.dim], index.SearchOptions{K: 10, Allow: allow})
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	s := bench()
	for _, w := range []int{1, 2} {
		b.Run(fmt.Sprintf("hnsw/workers=%d", w), func(b *testing.B) {
			start := cpuTime()
			for b.Loop() {
				build(s, "hnsw", w)
			}
			b.ReportMetric((cpuTime()-start)/float64(b.N), "cpu-s")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	s := bench()
	for name, ix := range map[string]index.Index{"flat": s.flat, "hnsw": s.hnsw} {
		data := snapshot(b, ix)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := index.Load(name, index.Options{Dim: s.dim, Seed: 1}, data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data))/float64(s.n), "bytes/vector")
		})
	}
}

func BenchmarkDelete(b *testing.B) {
	s := bench()
	ix := build(s, "hnsw", 2)
	i := 0
	for b.Loop() {
		id := s.ids[i%s.n : i%s.n+1]
		at := (i % s.n) * s.dim
		ix.Delete(id)
		b.StopTimer()
		if err := ix.Add(id, s.vectors[at:at+s.dim]); err != nil {
			b.Fatal(err)
		}
		i++
		b.StartTimer()
	}
}
