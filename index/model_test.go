package index_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestModel runs random operations against a map that is searched by the
// definition: 5,400 of them over all kinds and metrics; a round is an operation.
// The graphs are thin, so that there is much to mend and little to wait for.
func TestModel(t *testing.T) {
	seed := trial.Seed(t)
	text := indextest.TextLike(3000, modelDim, seed)
	ops := trial.Rounds(t, 5_400, 1_000_000) / (len(index.Kinds()) * len(index.Metrics()))
	forAllWith(t, index.Options{Dim: modelDim, M: 8, EfConstruction: 40}, func(t *testing.T, o index.Options, ix index.Index) {
		model(t, o, ix, ops, seed, text)
	})
}

// TestModelWithTail does the same to graphs with a tail, from which nodes are linked
// now and then.
func TestModelWithTail(t *testing.T) {
	seed := trial.Seed(t)
	text := indextest.TextLike(3000, modelDim, seed)
	kinds := []string{index.KindHNSW, index.KindHNSWInt8, index.KindHNSWCompact}
	ops := trial.Rounds(t, 2_500, 500_000) / (len(kinds) * len(index.Metrics()))
	for _, kind := range kinds {
		for _, metric := range index.Metrics() {
			t.Run(kind+"/"+metric, func(t *testing.T) {
				o := index.Options{Dim: modelDim, Metric: metric, M: 8, EfConstruction: 40, Tail: 150}
				ix, err := index.New(kind, o)
				if err != nil {
					t.Fatal(err)
				}
				model(t, o, ix, ops, seed, text)
			})
		}
	}
}

const modelDim = 16

func model(t *testing.T, o index.Options, ix index.Index, ops int, seed uint64, text []float32) {
	const dim = modelDim
	r := rand.New(rand.NewPCG(seed, 0))
	known := map[uint64][]float32{}
	random := func() []float32 {
		i := r.IntN(3000) // drawn again and again: many duplicates
		v := append([]float32(nil), text[i*dim:(i+1)*dim]...)
		if r.IntN(20) == 0 {
			for j := range v {
				v[j] *= 100 // far out
			}
		}
		return v
	}
	hits, asked := 0, 0
	var mark index.Mark
	var pending, mapped *snapshot.File
	released := func(files ...*snapshot.File) {
		for _, f := range files {
			if f != nil {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	t.Cleanup(func() { released(pending, mapped) })
	for op := range ops {
		switch x := r.IntN(100); {
		case x < 45: // add or update some
			n := 1 + r.IntN(8)
			if x < 2 {
				n = 200
			}
			var id []uint64
			var v []float32
			for range n {
				id = append(id, uint64(r.IntN(4000)))
				w := random()
				v = append(v, w...)
				known[id[len(id)-1]] = w
			}
			indextest.Add(t, ix, id, v)
		case x < 60: // delete some
			n := 1 + r.IntN(10)
			if x == 59 {
				n = r.IntN(4000)
			}
			want := 0
			var id []uint64
			for range n {
				i := uint64(r.IntN(4000))
				id = append(id, i)
				if _, ok := known[i]; ok {
					want++
					delete(known, i)
				}
			}
			if got := ix.Delete(id); got != want {
				t.Fatalf("op %d: deleted %d, want %d", op, got, want)
			}
		case x < 61: // write down and read back
			_, f, _ := saved(t, ix)
			ix = openFile(t, kindOf(t), o, f)
			indextest.Verify(t, ix)
			released(pending, mapped)
			pending, mapped = nil, f
		case x < 62 && pending == nil: // write down, and go over to the file later
			mark, pending, _ = saved(t, ix)
		case x < 62:
			remap(t, ix, mark, pending, mapped)
			pending, mapped = nil, pending
			indextest.Verify(t, ix)
		case x < 64 && o.Tail > 0:
			link(t, ix, r.IntN(100))
		default:
			q := random()
			k := 1 + r.IntN(12)
			so := index.SearchOptions{K: k, Ef: 16 + r.IntN(100)}
			if r.IntN(3) == 0 {
				m := uint64(1 + r.IntN(20))
				so.Allow = func(id uint64) bool { return id%m == 0 }
			}
			got := indextest.Search(t, ix, q, so)
			best := oracle(known, o.Metric, q, so)
			if len(got) != min(k, len(best)) {
				t.Fatalf("op %d: %d rows, want %d", op, len(got), min(k, len(best)))
			}
			for i, n := range got {
				v, ok := known[n.ID]
				if !ok || so.Allow != nil && !so.Allow(n.ID) {
					t.Fatalf("op %d: ghost %d", op, n.ID)
				}
				if d := indextest.Distance(o.Metric, q, v); abs(d-float64(n.Distance)) > 1e-4*(1+abs(d)) {
					t.Fatalf("op %d: distance of %d is %g, want %g", op, n.ID, n.Distance, d)
				}
				// a neighbour as near as the true one of its rank is right
				asked++
				if float64(n.Distance) <= best[i]+1e-4*(1+abs(best[i])) {
					hits++
				}
			}
		}
		if ix.Len() != len(known) {
			t.Fatalf("op %d: Len %d, want %d", op, ix.Len(), len(known))
		}
		if op%250 == 0 {
			indextest.Verify(t, ix)
		}
	}
	recall := float64(hits) / float64(max(1, asked))
	t.Logf("%d vectors at the end, recall %.4f", ix.Len(), recall)
	if floor := map[bool]float64{true: 1, false: 0.95}[strings.HasPrefix(kindOf(t), "flat")]; recall < floor {
		t.Errorf("recall %.4f, want %.2f", recall, floor)
	}
	indextest.Verify(t, ix)
}

func abs(x float64) float64 { return max(x, -x) }

// kindOf is the kind of index a test of forAll runs with.
func kindOf(t *testing.T) string {
	for _, k := range index.Kinds() {
		for _, m := range index.Metrics() {
			if name := t.Name(); len(name) > len(k+m) && name[len(name)-len(k+m)-1:] == k+"/"+m {
				return k
			}
		}
	}
	panic(fmt.Sprintf("%s is not a test of forAll", t.Name()))
}

// oracle are the best distances, ascending, by the definition.
func oracle(model map[uint64][]float32, metric string, q []float32, so index.SearchOptions) []float64 {
	var best []float64
	for id, v := range model {
		if so.Allow != nil && !so.Allow(id) {
			continue
		}
		d := indextest.Distance(metric, q, v)
		if len(best) == so.K && d >= best[so.K-1] {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1] > d {
			at--
		}
		if len(best) < so.K {
			best = append(best, 0)
		}
		copy(best[at+1:], best[at:])
		best[at] = d
	}
	return best
}

// TestConcurrent searches, adds and deletes at once; run it with -race.
func TestConcurrent(t *testing.T) {
	const n, dim = 3000, 16
	v := indextest.TextLike(n, dim, 5)
	forAllWith(t, index.Options{Dim: dim, M: 8, EfConstruction: 60}, func(t *testing.T, o index.Options, ix index.Index) {
		if testing.Short() && o.Metric == index.L2 {
			t.Skip("NOT TESTED with -short: searches beside writes by the metric L2 (the other two are); run without -short")
		}
		// ids below 500 stay, and must always be found
		indextest.Add(t, ix, indextest.IDs(500, 0), v[:500*dim])
		stop := make(chan struct{})
		var writers, readers sync.WaitGroup
		for w := range 2 {
			writers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 5))
				for range 6 {
					i := 500 + r.IntN(n-600)
					m := 1 + r.IntN(100)
					if err := ix.Add(indextest.IDs(m, uint64(i)), v[i*dim:(i+m)*dim]); err != nil {
						t.Error(err)
					}
					ix.Delete(indextest.IDs(60, uint64(500+r.IntN(n-600))))
					s := r.IntN(400) // an update to the same vector
					if err := ix.Add(indextest.IDs(20, uint64(s)), v[s*dim:(s+20)*dim]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for g := range 2 {
			readers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 6))
				var dst []index.Neighbor
				for {
					select {
					case <-stop:
						return
					default:
					}
					i := r.IntN(500)
					q := v[i*dim : (i+1)*dim]
					stays := func(id uint64) bool { return id < 500 }
					var err error
					dst, err = ix.Search(dst[:0], q, index.SearchOptions{K: 1, Allow: stays})
					if err != nil || len(dst) != 1 {
						t.Errorf("%v, %v", dst, err)
						return
					}
					s := []float32{0}
					if err := ix.Scores(s, q, []uint64{uint64(i)}); err != nil || s[0] != s[0] {
						t.Errorf("id %d is gone for a moment: %v, %v", i, s, err)
						return
					}
					if dst, err = ix.Search(dst[:0], q, index.SearchOptions{K: 20}); err != nil || len(dst) != 20 {
						t.Errorf("%d rows, %v", len(dst), err)
						return
					}
					for a := range dst {
						for b := range a {
							if dst[a].ID == dst[b].ID {
								t.Errorf("%d is there twice", dst[a].ID)
								return
							}
						}
					}
				}
			})
		}
		writers.Wait()
		close(stop)
		readers.Wait()
	})
}
