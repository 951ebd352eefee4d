package index_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/indextest"
)

// forAll runs f for each kind and metric that is registered.
func forAll(t *testing.T, dim int, f func(t *testing.T, o index.Options, ix index.Index)) {
	forAllWith(t, index.Options{Dim: dim}, f)
}

func forAllWith(t *testing.T, o index.Options, f func(t *testing.T, o index.Options, ix index.Index)) {
	for _, kind := range index.Kinds() {
		for _, metric := range index.Metrics() {
			t.Run(kind+"/"+metric, func(t *testing.T) {
				o := o
				o.Metric, o.Seed, o.Workers = metric, 7, 2
				ix, err := index.New(kind, o)
				if err != nil {
					t.Fatal(err)
				}
				f(t, o, ix)
				verify(t, ix)
			})
		}
	}
}

func verify(t testing.TB, ix index.Index) {
	t.Helper()
	if err := ix.(index.Verifier).Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, ix index.Index, ids []uint64, v []float32) {
	t.Helper()
	if err := ix.Add(ids, v); err != nil {
		t.Fatal(err)
	}
}

func search(t *testing.T, ix index.Index, q []float32, o index.SearchOptions) []index.Neighbor {
	t.Helper()
	n, err := ix.Search(nil, q, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(n); i++ {
		if a, b := n[i-1], n[i]; a.Distance > b.Distance || a.Distance == b.Distance && a.ID >= b.ID {
			t.Fatalf("out of order: %v before %v", a, b)
		}
	}
	return n
}

// distance is each metric by its definition, in float64.
func distance(metric string, a, b []float32) float64 {
	var dot, aa, bb, l2 float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += x * y
		aa += x * x
		bb += y * y
		l2 += (x - y) * (x - y)
	}
	switch metric {
	case index.Dot:
		return -dot
	case index.L2:
		return l2
	}
	return 1 - dot/math.Sqrt(aa*bb)
}

func gauss(n, dim int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n*dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestRefusals(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	forAll(t, 3, func(t *testing.T, o index.Options, ix index.Index) {
		add(t, ix, []uint64{1}, []float32{1, 2, 3})
		var dim *index.DimensionError
		for _, v := range [][]float32{nil, {1}, {1, 2, 3, 4, 5, 6, 7}} {
			if err := ix.Add([]uint64{8, 9}, v); !errors.As(err, &dim) || dim.Got != len(v) || dim.Want != 6 {
				t.Errorf("Add of %d components: %v", len(v), err)
			}
			if _, err := ix.Search(nil, v, index.SearchOptions{K: 1}); !errors.As(err, &dim) || dim.Want != 3 {
				t.Errorf("Search by %d components: %v", len(v), err)
			}
			if err := ix.Scores(make([]float32, 1), v, []uint64{1}); !errors.As(err, &dim) {
				t.Errorf("Scores by %d components: %v", len(v), err)
			}
			if err := ix.(index.BatchSearcher).SearchBatch(make([][]index.Neighbor, 2), v, index.SearchOptions{K: 1}); !errors.As(err, &dim) {
				t.Errorf("SearchBatch by %d components: %v", len(v), err)
			}
		}
		bad := map[error][]float32{index.ErrNotFinite: {1, nan, 2}}
		if o.Metric == index.Cosine {
			bad[index.ErrZeroVector] = []float32{0, 0, 0}
		} else {
			bad[index.ErrTooLarge] = []float32{3e38, 3e38, 3e38}
			add(t, ix, []uint64{50}, []float32{0, 0, 0})
			ix.Delete([]uint64{50})
		}
		for want, v := range bad {
			if err := ix.Add([]uint64{8, 9}, append([]float32{1, 2, 3}, v...)); !errors.Is(err, want) {
				t.Errorf("Add of %v: %v", v, err)
			}
			if _, err := ix.Search(nil, v, index.SearchOptions{K: 1}); !errors.Is(err, want) {
				t.Errorf("Search by %v: %v", v, err)
			}
		}
		if err := ix.Add([]uint64{8}, []float32{inf, 1, 1}); !errors.Is(err, index.ErrNotFinite) {
			t.Errorf("Add of an infinity: %v", err)
		}
		q := []float32{1, 0, 0}
		for _, k := range []int{0, -1} {
			dst := []index.Neighbor{{ID: 77}}
			if got, err := ix.Search(dst, q, index.SearchOptions{K: k}); !errors.Is(err, index.ErrBadK) || len(got) != 1 {
				t.Errorf("k = %d: %v, %v", k, got, err)
			}
			if err := ix.(index.BatchSearcher).SearchBatch(make([][]index.Neighbor, 1), q, index.SearchOptions{K: k}); !errors.Is(err, index.ErrBadK) {
				t.Errorf("batch, k = %d: %v", k, err)
			}
		}
		if err := ix.Scores(make([]float32, 2), q, []uint64{1}); !errors.Is(err, index.ErrLength) {
			t.Errorf("Scores with too much room: %v", err)
		}
		if ix.Len() != 1 {
			t.Errorf("a refused Add left something: %d vectors", ix.Len())
		}
	})
}

func TestLife(t *testing.T) {
	const dim = 19
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		if ix.Dim() != dim || ix.Len() != 0 {
			t.Fatal("not empty at first")
		}
		q := gauss(1, dim, 99)
		if n := search(t, ix, q, index.SearchOptions{K: 5}); len(n) != 0 {
			t.Fatalf("found %v in nothing", n)
		}
		if ix.Delete([]uint64{1, 2}) != 0 {
			t.Fatal("deleted from nothing")
		}
		add(t, ix, nil, nil)
		v := gauss(50, dim, 1)
		given := slices.Clone(v)
		add(t, ix, ids(50, 10), v)
		for i := range v { // the index must have its own copy
			v[i] = 1e9
		}
		check := func(ids []uint64, vecs map[uint64][]float32) {
			t.Helper()
			verify(t, ix)
			got := search(t, ix, q, index.SearchOptions{K: 1000})
			if len(got) != len(ids) || ix.Len() != len(ids) {
				t.Fatalf("found %d of %d, Len %d", len(got), len(ids), ix.Len())
			}
			for _, n := range got {
				if want := distance(o.Metric, q, vecs[n.ID]); math.Abs(float64(n.Distance)-want) > 1e-4 {
					t.Fatalf("distance of %d is %g, want %g", n.ID, n.Distance, want)
				}
			}
			s := make([]float32, len(got)+1)
			all := []uint64{424242}
			for _, n := range got {
				all = append(all, n.ID)
			}
			if err := ix.Scores(s, q, all); err != nil || s[0] == s[0] {
				t.Fatalf("Scores: %v, absent id has %g", err, s[0])
			}
			for i, n := range got {
				if s[i+1] != n.Distance {
					t.Fatalf("Scores gives %g for %d, Search %g", s[i+1], n.ID, n.Distance)
				}
			}
		}
		vecs := map[uint64][]float32{}
		for i := range 50 {
			vecs[uint64(10+i)] = given[i*dim : (i+1)*dim]
		}
		check(ids(50, 10), vecs)
		// an update, twice in one call: the last one counts
		w := gauss(2, dim, 2)
		add(t, ix, []uint64{20, 20}, w)
		vecs[20] = w[dim:]
		check(ids(50, 10), vecs)
		// deletes, some twice and some absent
		if n := ix.Delete([]uint64{10, 11, 10, 7}); n != 2 {
			t.Fatalf("deleted %d, want 2", n)
		}
		check(ids(48, 12), vecs)
		if n := ix.Delete(ids(100, 0)); n != 48 {
			t.Fatalf("deleted %d, want 48", n)
		}
		check(nil, nil)
		add(t, ix, ids(50, 10), given)
		for i := range 50 {
			vecs[uint64(10+i)] = given[i*dim : (i+1)*dim]
		}
		check(ids(50, 10), vecs)
	})
}

func TestAppendsAndTies(t *testing.T) {
	forAll(t, 4, func(t *testing.T, o index.Options, ix index.Index) {
		v := []float32{1, 2, 3, 4}
		for _, id := range []uint64{9, 3, 7, 1, 5, 1 << 63, 0} {
			add(t, ix, []uint64{id}, v)
		}
		got, err := ix.Search([]index.Neighbor{{ID: 55}}, v, index.SearchOptions{K: 4})
		if err != nil {
			t.Fatal(err)
		}
		var order []uint64
		for _, n := range got {
			order = append(order, n.ID)
		}
		if want := []uint64{55, 0, 1, 3, 5}; !slices.Equal(order, want) {
			t.Fatalf("order %v, want %v", order, want)
		}
	})
}

func TestFilters(t *testing.T) {
	const n, dim = textN, textDim
	v := textVectors()
	queries := indextest.TextLikeQueries(20, dim, 3)
	forText(t, func(t *testing.T, o index.Options, ix index.Index) {
		hits, asked := 0, 0
		for qi := range 20 {
			q := queries[qi*dim : (qi+1)*dim]
			all := exact(o.Metric, q, v, n, dim, nil)
			far := map[uint64]bool{} // against the grain: the farthest tenth
			for _, x := range all[n-n/10:] {
				far[x.ID] = true
			}
			for name, allow := range map[string]func(uint64) bool{
				"all":  func(uint64) bool { return true },
				"half": func(id uint64) bool { return id%2 == 0 },
				"10%":  func(id uint64) bool { return id%10 == 3 },
				"few":  func(id uint64) bool { return id%1000 == 7 },
				"one":  func(id uint64) bool { return id == 2321 },
				"none": func(uint64) bool { return false },
				"far":  func(id uint64) bool { return far[id] },
			} {
				var want []index.Neighbor
				for _, x := range all {
					if allow(x.ID) && len(want) < 10 {
						want = append(want, x)
					}
				}
				let := func(yield func(id uint64) bool) {
					for id := range uint64(n) {
						if allow(id) && !yield(id) {
							return
						}
					}
				}
				allowed := 0
				for range let {
					allowed++
				}
				for _, o := range []index.SearchOptions{{K: 10, Allow: allow}, {K: 10, Allow: allow, Among: let, Allowed: allowed}} {
					got := search(t, ix, q, o)
					if len(got) != len(want) {
						t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
					}
					for _, x := range got {
						if !allow(x.ID) {
							t.Fatalf("%s: %d is not allowed", name, x.ID)
						}
					}
					hits += common(want, got)
					asked += len(want)
				}
			}
		}
		if recall := float64(hits) / float64(asked); recall < 0.95 {
			t.Errorf("recall %.3f", recall)
		} else {
			t.Logf("recall %.4f", recall)
		}
	})
}

// TestNarrowFilters: a filter that lists what it lets through is not asked about the rest, and one that lists
// an id that is gone is.
func TestNarrowFilters(t *testing.T) {
	const n, dim = 3000, 8
	v := gauss(n, dim, 5)
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		add(t, ix, ids(n, 0), v)
		listed := []uint64{7, 70, 700, 1400, 2100}
		asked := 0
		options := index.SearchOptions{K: 3, Allow: func(id uint64) bool { asked++; return slices.Contains(listed, id) }, Among: slices.Values(listed), Allowed: len(listed)}
		check := func() {
			t.Helper()
			want := exact(o.Metric, v[:dim], v, n, dim, func(id uint64) bool { return ix.(index.Keeper).Has(id) && slices.Contains(listed, id) })
			if got := search(t, ix, v[:dim], options); len(got) != 3 || common(got, want[:3]) != 3 {
				t.Errorf("%v, want %v", got, want[:3])
			}
		}
		if check(); asked > 0 {
			t.Errorf("asked %d times", asked)
		}
		ix.Delete([]uint64{700})
		if check(); asked == 0 {
			t.Error("an id that is gone was not noticed")
		}
		if ix.(index.Keeper).Has(700) || !ix.(index.Keeper).Has(7) {
			t.Error("Has")
		}
	})
}

// TestNarrowFiltersBesideWrites: a search finds what its filter lists, wherever a writer moves it meanwhile.
func TestNarrowFiltersBesideWrites(t *testing.T) {
	const n, dim = 2000, 8
	v := gauss(n, dim, 6)
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		add(t, ix, ids(n, 0), v)
		listed := ids(9, 100)
		stop, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if err := ix.Add(ids(200, 0), v[:200*dim]); err != nil { // other slots for the same vectors
					done <- err
					return
				}
			}
		}()
		want := exact(o.Metric, v[:dim], v, n, dim, func(id uint64) bool { return slices.Contains(listed, id) })
		for range 300 {
			got := search(t, ix, v[:dim], index.SearchOptions{K: 20, Allow: func(id uint64) bool { return slices.Contains(listed, id) }, Among: slices.Values(listed), Allowed: len(listed)})
			if len(got) != len(listed) || common(got, want) != len(listed) {
				t.Errorf("%v, want %v", got, want)
				break
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// exact ranks by the definition.
func exact(metric string, q, v []float32, n, dim int, allow func(uint64) bool) []index.Neighbor {
	var out []index.Neighbor
	for i := range n {
		if allow == nil || allow(uint64(i)) {
			out = append(out, index.Neighbor{ID: uint64(i), Distance: float32(distance(metric, q, v[i*dim:(i+1)*dim]))})
		}
	}
	slices.SortFunc(out, func(a, b index.Neighbor) int {
		if a.Distance < b.Distance || a.Distance == b.Distance && a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

func TestSearchBatchIsManySearches(t *testing.T) {
	for _, dim := range []int{1, 24, 600} {
		n := 1300
		v, queries := indextest.TextLike(n, dim, 3), indextest.TextLikeQueries(270, dim, 3)
		forAllWith(t, index.Options{Dim: dim, M: 8, EfConstruction: 40}, func(t *testing.T, o index.Options, ix index.Index) {
			add(t, ix, ids(n, 0), v)
			for _, m := range []int{0, 1, 3, 20, 270} {
				q := queries[:m*dim]
				for _, so := range []index.SearchOptions{{K: 10}, {K: 3000}, {K: 5, Allow: func(id uint64) bool { return id%3 == 0 }}} {
					if so.K > n && m == 270 {
						continue // 20 queries are as much of a block, in a tenth of the time
					}
					dst := make([][]index.Neighbor, m)
					for i := range dst {
						dst[i] = []index.Neighbor{{ID: 1}} // to be dropped
					}
					if err := ix.(index.BatchSearcher).SearchBatch(dst, q, so); err != nil {
						t.Fatal(err)
					}
					for i, got := range dst {
						want := search(t, ix, q[i*dim:(i+1)*dim], so)
						if len(got) != len(want) {
							t.Fatalf("%d rows, want %d", len(got), len(want))
						}
						for j := range got {
							if d := math.Abs(float64(got[j].Distance - want[j].Distance)); d > 1e-5 {
								t.Fatalf("query %d, rank %d: distance %g, want %g", i, j, got[j].Distance, want[j].Distance)
							}
						}
					}
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	if _, err := index.New("nosuch", index.Options{Dim: 3}); !errors.Is(err, index.ErrUnknownKind) {
		t.Error(err)
	}
	_, err := index.New("flat", index.Options{Metric: "nosuch", M: 1, Ef: -1, EfConstruction: -5, Workers: -2})
	if !errors.Is(err, index.ErrUnknownMetric) || !errors.Is(err, index.ErrOptions) {
		t.Error(err)
	}
	for _, name := range []string{"Dim", "M ", "Ef ", "EfConstruction", "Workers", "nosuch"} {
		if !bytes.Contains([]byte(fmt.Sprint(err)), []byte(name)) {
			t.Errorf("%q is not named in: %v", name, err)
		}
	}
	for _, kind := range index.Kinds() {
		if _, err := index.New(kind, index.Options{Dim: 1}); err != nil {
			t.Error(err)
		}
	}
}

func TestSearchAllocatesNothing(t *testing.T) {
	const dim = textDim
	v := textVectors()
	forText(t, func(t *testing.T, o index.Options, ix index.Index) {
		dst := make([]index.Neighbor, 0, 64)
		even := func(id uint64) bool { return id%2 == 0 }
		few := func(id uint64) bool { return id%500 == 0 }
		for name, so := range map[string]index.SearchOptions{"graph": {K: 10, Ef: 20}, "all": {K: 50, Ef: textN}, "even": {K: 10, Ef: 10, Allow: even}, "few": {K: 10, Allow: few}} {
			if a := testing.AllocsPerRun(200, func() { dst, _ = ix.Search(dst[:0], v[:dim], so) }); a >= 1 {
				t.Errorf("%s: %g allocations per search", name, a)
			}
		}
	})
}
