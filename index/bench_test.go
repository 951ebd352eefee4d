//go:build unix

package index_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
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
	return process.CPUTime().Seconds()
}

type benchSet struct {
	n, dim  int
	ids     []uint64
	vectors []float32
	queries []float32
	truth   [][]index.Neighbor
	built   map[string]index.Index
}

// get is the index of a kind over all vectors, built at the first call.
func (s *benchSet) get(kind string) index.Index {
	ix, ok := s.built[kind]
	if !ok {
		ix = build(s, kind, 2)
		s.built[kind] = ix
	}
	return ix
}

var bench = sync.OnceValue(func() *benchSet {
	s := &benchSet{n: benchSize(), dim: 384, built: map[string]index.Index{}}
	const queries = 500
	s.vectors = indextest.TextLike(s.n, s.dim, 1)
	s.queries = indextest.TextLikeQueries(queries, s.dim, 1)
	s.ids = indextest.IDs(s.n, 0)
	s.truth = make([][]index.Neighbor, queries)
	if err := s.get("flat").SearchBatch(s.truth, s.queries, index.SearchOptions{K: 10}); err != nil {
		panic(err)
	}
	return s
})

func (s *benchSet) query(i int) []float32 { return s.queries[i*s.dim : (i+1)*s.dim] }

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
					hits += indextest.Common(s.truth[j], dst)
					asked += 10
				}
			}
			b.ReportMetric(float64(b.N)/(cpuTime()-start), "queries/cpu-s")
			b.ReportMetric(float64(hits)/float64(asked), "recall@10")
		})
	}
	search("flat", s.get("flat"), 0)
	search("flat-int8", s.get("flat-int8"), 0)
	for _, ef := range []int{10, 16, 24, 32, 64, 128} {
		search(fmt.Sprintf("hnsw/ef=%d", ef), s.get("hnsw"), ef)
		search(fmt.Sprintf("hnsw-int8/ef=%d", ef), s.get("hnsw-int8"), ef)
	}
	b.Run("flat/batch=500", func(b *testing.B) {
		dst := make([][]index.Neighbor, len(s.truth))
		start := cpuTime()
		for b.Loop() {
			if err := s.get("flat").SearchBatch(dst, s.queries, index.SearchOptions{K: 10}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*len(dst))/(cpuTime()-start), "queries/cpu-s")
	})
}

// BenchmarkFiltered compares filtered searches in the graph with the exact scan
// of what the filter lets through: shares kept at random, and the tenth that is
// farthest from the query. It reports recall, and the time of the scan over that
// of the graph, from turns that alternate; the graph is told what the filter lets through in "listed".
func BenchmarkFiltered(b *testing.B) {
	s := bench()
	graph, flat := s.get("hnsw-int8"), s.get("flat-int8")
	const queries = 60
	far := make([][]uint64, queries) // a set of bits for each query
	dist := make([]float32, s.n)
	for i := range far {
		if err := flat.Scores(dist, s.query(i), s.ids); err != nil {
			b.Fatal(err)
		}
		sorted := slices.Sorted(slices.Values(dist))
		far[i] = make([]uint64, s.n/64+1)
		for id, d := range dist {
			if d >= sorted[s.n*9/10] {
				far[i][id/64] |= 1 << (id % 64)
			}
		}
	}
	share := func(keep uint64) func(q int) func(uint64) bool {
		return func(int) func(uint64) bool {
			return func(id uint64) bool { return id*0x9e3779b97f4a7c15>>32%keep == 0 }
		}
	}
	for name, allow := range map[string]func(q int) func(uint64) bool{
		"50%": share(2), "10%": share(10), "1%": share(100), "0.1%": share(1000),
		"far": func(q int) func(uint64) bool {
			return func(id uint64) bool { return far[q][id/64]>>(id%64)&1 == 1 }
		},
	} {
		listed := make([][]uint64, queries)
		for i := range listed {
			for _, id := range s.ids {
				if allow(i)(id) {
					listed[i] = append(listed[i], id)
				}
			}
		}
		run := func(b *testing.B, tell bool) {
			hits, asked := 0, 0
			var took [2]float64
			for b.Loop() {
				hits, asked, took = 0, 0, [2]float64{}
				for i := range queries {
					o := index.SearchOptions{K: 10, Allow: allow(i)}
					options := [2]index.SearchOptions{o, o}
					if tell {
						options[0].Among, options[0].Allowed = slices.Values(listed[i]), len(listed[i])
					}
					var answers [2][]index.Neighbor
					best := [2]float64{math.Inf(1), math.Inf(1)}
					for range 5 {
						for j, ix := range []index.Index{graph, flat} {
							start := cpuTime()
							answers[j], _ = ix.Search(answers[j][:0], s.query(i), options[j])
							best[j] = min(best[j], cpuTime()-start)
						}
					}
					if len(answers[0]) != len(answers[1]) {
						b.Fatalf("%d rows, want %d", len(answers[0]), len(answers[1]))
					}
					hits, asked = hits+indextest.Common(answers[0], answers[1]), asked+len(answers[1])
					took[0], took[1] = took[0]+best[0], took[1]+best[1]
				}
			}
			b.ReportMetric(float64(hits)/float64(asked), "recall@10")
			b.ReportMetric(took[0]/queries*1e6, "graph-cpu-µs")
			b.ReportMetric(took[1]/took[0], "scan/graph")
		}
		b.Run(name, func(b *testing.B) { run(b, false) })
		b.Run(name+"/listed", func(b *testing.B) { run(b, true) })
	}
}

func BenchmarkBuild(b *testing.B) {
	s := bench()
	for _, kind := range []string{"hnsw", "hnsw-int8"} {
		for _, w := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", kind, w), func(b *testing.B) {
				start, cpu := time.Now(), cpuTime()
				for b.Loop() {
					build(s, kind, w)
				}
				b.ReportMetric((cpuTime()-cpu)/float64(b.N), "cpu-s")
				b.ReportMetric(time.Since(start).Seconds()/float64(b.N), "wall-s")
			})
		}
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
