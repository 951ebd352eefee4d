package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func newHNSW(t *testing.T, o index.Options) index.Index {
	t.Helper()
	ix, err := index.New("hnsw", o)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// graphRecall searches along the graph alone and compares with exact search
// over the vectors that keep lets through.
func graphRecall(t *testing.T, ix index.Index, v, queries []float32, dim int, keep func(id int) bool) float64 {
	t.Helper()
	flat, err := index.New("flat", index.Options{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(v) / dim {
		if keep(i) {
			indextest.Add(t, flat, []uint64{uint64(i)}, v[i*dim:(i+1)*dim])
		}
	}
	if flat.Len() != ix.Len() {
		t.Fatalf("%d vectors, want %d", ix.Len(), flat.Len())
	}
	hits, asked := 0, 0
	for i := range len(queries) / dim {
		q := queries[i*dim : (i+1)*dim]
		want := indextest.Search(t, flat, q, index.SearchOptions{K: 10})
		got := index.GraphSearch(ix, q, 10, 64)
		for _, n := range got {
			asked++
			if n.Distance <= want[len(want)-1].Distance+1e-5 {
				hits++
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
	}
	return float64(hits) / float64(asked)
}

func TestRecallAfterDeletes(t *testing.T) {
	const dim = 32
	n := 1200
	if trial.Long() {
		n = 10_000
	}
	v := indextest.TextLike(n, dim, 11)
	queries := indextest.TextLikeQueries(100, dim, 11)
	toward := indextest.TextLikeQueries(1, dim, 12) // a cluster is what lies this way
	near := indextest.Exact(index.Cosine, toward, v, n, dim, nil)
	rank := make([]int, n)
	for i, x := range near {
		rank[x.ID] = i
	}
	r := rand.New(rand.NewPCG(1, 1))
	o := index.Options{Dim: dim, Seed: 3, Workers: 2}
	whole := newHNSW(t, o)
	indextest.Add(t, whole, indextest.IDs(n, 0), v)
	data := save(t, whole)
	for _, percent := range []int{10, 50, 90} {
		perm := r.Perm(n)
		wants := map[bool]float64{} // the recall of a fresh graph without the cluster, or without the others
		for _, how := range []string{"random", "cluster", "one by one"} {
			t.Run(fmt.Sprintf("%d%% %s", percent, how), func(t *testing.T) {
				ix := open(t, "hnsw", o, data)
				gone := make([]bool, n)
				var del []uint64
				for _, i := range perm {
					if how == "cluster" && rank[i] < n*percent/100 || how != "cluster" && len(del) < n*percent/100 {
						gone[i] = true
						del = append(del, uint64(i))
					}
				}
				if how == "one by one" {
					for _, id := range del {
						ix.Delete([]uint64{id})
					}
				} else {
					ix.Delete(del)
				}
				indextest.Verify(t, ix)
				keep := func(id int) bool { return !gone[id] }
				want, made := wants[how == "cluster"]
				if !made {
					fresh := newHNSW(t, o)
					for i := range n {
						if keep(i) {
							indextest.Add(t, fresh, []uint64{uint64(i)}, v[i*dim:(i+1)*dim])
						}
					}
					want = graphRecall(t, fresh, v, queries, dim, keep)
					wants[how == "cluster"] = want
				}
				got := graphRecall(t, ix, v, queries, dim, keep)
				t.Logf("recall %.4f, of a fresh graph %.4f", got, want)
				if got < want-0.01 {
					t.Error("too low")
				}
				// the slots are used again
				for _, id := range del {
					indextest.Add(t, ix, []uint64{id}, v[id*dim:(id+1)*dim])
				}
				indextest.Verify(t, ix)
				if got := graphRecall(t, ix, v, queries, dim, func(int) bool { return true }); got < 0.98 {
					t.Errorf("recall %.4f after adding again", got)
				}
			})
		}
	}
}

// TestHardShapes builds graphs from vectors that break the usual ones.
func TestHardShapes(t *testing.T) {
	const dim = 8
	n := 1100
	if trial.Long() {
		n = 10_000
	}
	r := rand.New(rand.NewPCG(2, 2))
	shapes := map[string]func(i int) []float32{
		"all equal": func(int) []float32 { return []float32{1, 2, 3, 4, 5, 6, 7, 8} },
		"ten values": func(i int) []float32 {
			v := make([]float32, dim)
			v[i%8], v[i%5] = 1, v[i%5]+2
			return v
		},
		"twenty copies": func(i int) []float32 { return indextest.Gauss(1, dim, uint64(i/20)) },
		"collinear":     func(i int) []float32 { return slices.Repeat([]float32{float32(i + 1)}, dim) },
		"descending":    func(i int) []float32 { return slices.Repeat([]float32{float32(n - i)}, dim) },
		"far out": func(i int) []float32 {
			v := indextest.Gauss(1, dim, uint64(i))
			if i%100 == 0 {
				for j := range v {
					v[j] *= 1e6 * r.Float32()
				}
			}
			return v
		},
		"islands": func(i int) []float32 {
			v := indextest.Gauss(1, dim, uint64(i))
			v[i*7/n] += 1e4 // seven, one after another
			return v
		},
	}
	for name, shape := range shapes {
		for _, m := range []int{2, 16} {
			t.Run(fmt.Sprintf("%s/M=%d", name, m), func(t *testing.T) {
				o := index.Options{Dim: dim, Metric: "l2", M: m, Workers: 2}
				ix := newHNSW(t, o)
				var v []float32
				for i := range n {
					v = append(v, shape(i)...)
				}
				indextest.Add(t, ix, indextest.IDs(n, 0), v)
				indextest.Verify(t, ix)
				// every one is found along the graph, from wherever
				if got := index.GraphSearch(ix, v[:dim], n, n); len(got) != n {
					t.Fatalf("%d of %d found", len(got), n)
				}
				// A far outlier hangs on what was nearest when it came, which a
				// search need not pass.
				var asked, hits [2]int // of all but outliers, and of those
				for i := range 300 {
					j, out := i*n/300, 0
					if name == "far out" && j%100 == 0 {
						out = 1
					}
					asked[out]++
					got := index.GraphSearch(ix, v[j*dim:(j+1)*dim], 1, 64)
					if len(got) == 1 && got[0].Distance == 0 {
						hits[out]++
					}
				}
				t.Logf("%d of %d found by their own vector, of outliers %d of %d", hits[0], asked[0], hits[1], asked[1])
				floor := asked[0] * 99 / 100
				if name == "twenty copies" && trial.Long() {
					floor = asked[0] * 97 / 100 // so many fill a pool of 64 with three or four vectors
				}
				if m == 16 && (hits[0] < floor || 10*hits[1] < 7*asked[1]) {
					t.Errorf("want %d, and seven of ten outliers", floor)
				}
				perm := r.Perm(n)
				var del []uint64
				for _, i := range perm[:n*9/10] {
					del = append(del, uint64(i))
				}
				ix.Delete(del)
				indextest.Verify(t, ix)
				if got := index.GraphSearch(ix, v[:dim], n, n); len(got) != ix.Len() {
					t.Fatalf("%d of %d found", len(got), ix.Len())
				}
			})
		}
	}
}

// TestCopies: what lies around many copies of a vector is found past them. Where copies may fill all
// links, 58 of the 1,200 are missed.
func TestCopies(t *testing.T) {
	const n, dim, copies, asked = 3000, 32, 1200, 300
	missed := 0
	for _, of := range []int{1, 3} { // vectors that are copied
		for _, at := range []struct{ copies, others int }{{0, copies}, {n, 0}} {
			v := indextest.TextLike(n+copies, dim, 11)
			row := func(i int) []float32 { return v[i*dim : (i+1)*dim] }
			for i := range copies {
				copy(row(at.copies+i), row(copies+i%of))
			}
			other, err := index.New("flat", index.Options{Dim: dim})
			if err != nil {
				t.Fatal(err)
			}
			indextest.Add(t, other, indextest.IDs(n, uint64(at.others)), v[at.others*dim:][:n*dim])
			near := indextest.Search(t, other, row(copies), index.SearchOptions{K: asked})
			ix, err := index.New("hnsw-int8", index.Options{Dim: dim, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			indextest.Add(t, ix, indextest.IDs(n+copies, 0), v)
			indextest.Verify(t, ix)
			for _, x := range near {
				if got := index.GraphSearch(ix, row(int(x.ID)), 10, 64); len(got) == 0 || got[0].Distance > 1e-4 {
					missed++
				}
			}
		}
	}
	if t.Logf("%d missed", missed); missed > 40 {
		t.Errorf("%d of %d missed", missed, 4*asked)
	}
}

// TestGraphDoesNotDependOnWorkers compares snapshots bit by bit.
func TestGraphDoesNotDependOnWorkers(t *testing.T) {
	const n, dim = 2000, 16
	v := indextest.TextLike(n, dim, 4)
	var first []byte
	for _, workers := range []int{1, 2, 5} {
		ix := newHNSW(t, index.Options{Dim: dim, Workers: workers, Seed: 5})
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		ix.SetWorkers(workers%5 + 1)
		ix.Delete(indextest.IDs(500, 700))
		indextest.Add(t, ix, indextest.IDs(300, 600), v[:300*dim])
		data := save(t, ix)
		if first == nil {
			first = data
		} else if !slices.Equal(first, data) {
			t.Fatalf("%d workers make another graph than 1", workers)
		}
	}
}
