package indextest

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// Suite tests the contract of index.Index. open returns an empty index with the given options: Dim, Metric, Seed,
// Workers, M and EfConstruction. An index may ignore all options except Dim and Metric. metrics are the
// metrics to test, such as index.Metrics().
//
// Searches for ten nearest neighbours must have a recall of 0.95 under any filter. LEXSEM_ROUNDS in the
// environment sets the number of queries for that. Each test uses at most a few thousand vectors.
func Suite(t *testing.T, metrics []string, open func(o index.Options) (index.Index, error)) {
	for _, metric := range metrics {
		t.Run(metric, func(t *testing.T) {
			s := suite{metric, open}
			t.Run("Refusals", s.refusals)
			t.Run("Life", s.life)
			t.Run("AppendsAndTies", s.appendsAndTies)
			t.Run("Filters", s.filters)
			t.Run("NarrowFilters", s.narrowFilters)
			t.Run("NarrowFiltersBesideWrites", s.narrowFiltersBesideWrites)
			t.Run("Batches", s.batches)
		})
	}
}

type suite struct {
	metric string
	open   func(o index.Options) (index.Index, error)
}

// new makes an empty index.
func (s suite) new(t *testing.T, o index.Options) index.Index {
	t.Helper()
	o.Metric, o.Seed, o.Workers = s.metric, 7, 2
	ix, err := s.open(o)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// filled is an index of n vectors, with ids from 0.
func (s suite) filled(t *testing.T, n, dim int) (index.Index, []float32) {
	t.Helper()
	ix, v := s.new(t, index.Options{Dim: dim}), Gauss(n, dim, 5)
	Add(t, ix, IDs(n, 0), v)
	return ix, v
}

// Verify calls the index's own check.
func Verify(t testing.TB, ix index.Index) {
	t.Helper()
	if err := ix.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Add stores vectors, or fails the test.
func Add(t testing.TB, ix index.Index, ids []uint64, v []float32) {
	t.Helper()
	if err := ix.Add(ids, v); err != nil {
		t.Fatal(err)
	}
}

// Search returns the hits of a search and checks their order.
func Search(t testing.TB, ix index.Index, q []float32, o index.SearchOptions) []index.Neighbor {
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

// Distance computes each metric by its definition, in float64.
func Distance(metric string, a, b []float32) float64 {
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

// Gauss returns n vectors with normally distributed components, row-major. Equal arguments give equal
// vectors.
func Gauss(n, dim int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n*dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// IDs returns n consecutive ids.
func IDs(n int, from uint64) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = from + uint64(i)
	}
	return s
}

// Common returns the number of ids that occur in both results.
func Common(a, b []index.Neighbor) int {
	n := 0
	for _, x := range a {
		if slices.ContainsFunc(b, func(y index.Neighbor) bool { return x.ID == y.ID }) {
			n++
		}
	}
	return n
}

// Exact ranks the rows of v by the definition of the metric. The id of a row is its number. allow, if
// not nil, selects the ids to rank.
func Exact(metric string, q, v []float32, n, dim int, allow func(uint64) bool) []index.Neighbor {
	var out []index.Neighbor
	for i := range n {
		if allow == nil || allow(uint64(i)) {
			out = append(out, index.Neighbor{ID: uint64(i), Distance: float32(Distance(metric, q, v[i*dim:(i+1)*dim]))})
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

// texts returns n vectors and m queries of [TextLike], to be read only. The suite runs once for each kind and metric,
// and draws them once.
func texts(n, m, dim int) (v, queries []float32) {
	k := [3]int{n, m, dim}
	drawn.Lock()
	defer drawn.Unlock()
	got, ok := drawn.of[k]
	if !ok {
		got = [2][]float32{TextLike(n, dim, 3), TextLikeQueries(m, dim, 3)}
		drawn.of[k] = got
	}
	return got[0], got[1]
}

var drawn = struct {
	sync.Mutex
	of map[[3]int][2][]float32
}{of: map[[3]int][2][]float32{}}

func (s suite) refusals(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	ix := s.new(t, index.Options{Dim: 3})
	Add(t, ix, []uint64{1}, []float32{1, 2, 3})
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
		if err := ix.SearchBatch(make([][]index.Neighbor, 2), v, index.SearchOptions{K: 1}); !errors.As(err, &dim) {
			t.Errorf("SearchBatch by %d components: %v", len(v), err)
		}
	}
	bad := map[error][]float32{index.ErrNotFinite: {1, nan, 2}}
	if s.metric == index.Cosine {
		bad[index.ErrZeroVector] = []float32{0, 0, 0}
	} else {
		bad[index.ErrTooLarge] = []float32{3e38, 3e38, 3e38}
		Add(t, ix, []uint64{50}, []float32{0, 0, 0})
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
		if got, err := ix.Search(dst, q, index.SearchOptions{K: k}); !errors.Is(err, index.ErrOptions) || len(got) != 1 {
			t.Errorf("k = %d: %v, %v", k, got, err)
		}
		if err := ix.SearchBatch(make([][]index.Neighbor, 1), q, index.SearchOptions{K: k}); !errors.Is(err, index.ErrOptions) {
			t.Errorf("batch, k = %d: %v", k, err)
		}
	}
	if err := ix.Scores(make([]float32, 2), q, []uint64{1}); !errors.Is(err, index.ErrOptions) {
		t.Errorf("Scores with too much room: %v", err)
	}
	if ix.Len() != 1 {
		t.Errorf("a refused Add left something: %d vectors", ix.Len())
	}
	Verify(t, ix)
}

func (s suite) life(t *testing.T) {
	const dim = 19
	ix := s.new(t, index.Options{Dim: dim})
	if ix.Dim() != dim || ix.Len() != 0 {
		t.Fatal("not empty at first")
	}
	q := Gauss(1, dim, 99)
	if n := Search(t, ix, q, index.SearchOptions{K: 5}); len(n) != 0 {
		t.Fatalf("found %v in nothing", n)
	}
	if ix.Delete([]uint64{1, 2}) != 0 {
		t.Fatal("deleted from nothing")
	}
	Add(t, ix, nil, nil)
	v := Gauss(50, dim, 1)
	given := slices.Clone(v)
	Add(t, ix, IDs(50, 10), v)
	for i := range v { // the index must have its own copy
		v[i] = 1e9
	}
	check := func(ids []uint64, vecs map[uint64][]float32) {
		t.Helper()
		Verify(t, ix)
		got := Search(t, ix, q, index.SearchOptions{K: 1000})
		if len(got) != len(ids) || ix.Len() != len(ids) {
			t.Fatalf("found %d of %d, Len %d", len(got), len(ids), ix.Len())
		}
		for _, n := range got {
			if want := Distance(s.metric, q, vecs[n.ID]); math.Abs(float64(n.Distance)-want) > 1e-4 {
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
	check(IDs(50, 10), vecs)
	// an update, twice in one call: the last one counts
	w := Gauss(2, dim, 2)
	Add(t, ix, []uint64{20, 20}, w)
	vecs[20] = w[dim:]
	check(IDs(50, 10), vecs)
	// deletes, some twice and some absent
	if n := ix.Delete([]uint64{10, 11, 10, 7}); n != 2 {
		t.Fatalf("deleted %d, want 2", n)
	}
	check(IDs(48, 12), vecs)
	if n := ix.Delete(IDs(100, 0)); n != 48 {
		t.Fatalf("deleted %d, want 48", n)
	}
	check(nil, nil)
	Add(t, ix, IDs(50, 10), given)
	for i := range 50 {
		vecs[uint64(10+i)] = given[i*dim : (i+1)*dim]
	}
	check(IDs(50, 10), vecs)
	Verify(t, ix)
}

func (s suite) appendsAndTies(t *testing.T) {
	ix := s.new(t, index.Options{Dim: 4})
	v := []float32{1, 2, 3, 4}
	for _, id := range []uint64{9, 3, 7, 1, 5, 1 << 63, 0} {
		Add(t, ix, []uint64{id}, v)
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
	Verify(t, ix)
}

func (s suite) filters(t *testing.T) {
	const dim = 24
	n := 1500
	if trial.Long() {
		n = 2500
	}
	rounds := trial.Rounds(t, 12, 1000)
	v, queries := texts(n, rounds, dim)
	ix := s.new(t, index.Options{Dim: dim})
	Add(t, ix, IDs(n, 0), v)
	hits, asked := 0, 0
	for qi := range rounds {
		q := queries[qi*dim : (qi+1)*dim]
		all := Exact(s.metric, q, v, n, dim, nil)
		far := map[uint64]bool{} // against the grain: the farthest tenth
		for _, x := range all[n-n/10:] {
			far[x.ID] = true
		}
		for name, allow := range map[string]func(uint64) bool{
			"all":  func(uint64) bool { return true },
			"half": func(id uint64) bool { return id%2 == 0 },
			"10%":  func(id uint64) bool { return id%10 == 3 },
			"1%":   func(id uint64) bool { return id%100 == 3 },
			"few":  func(id uint64) bool { return id%1000 == 7 },
			"one":  func(id uint64) bool { return id == 1321 },
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
				got := Search(t, ix, q, o)
				if len(got) != len(want) {
					t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
				}
				for _, x := range got {
					if !allow(x.ID) {
						t.Fatalf("%s: %d is not allowed", name, x.ID)
					}
				}
				hits += Common(want, got)
				asked += len(want)
			}
		}
	}
	if recall := float64(hits) / float64(asked); recall < 0.95 {
		t.Errorf("recall %.3f", recall)
	} else {
		t.Logf("recall %.4f", recall)
	}
	Verify(t, ix)
}

// narrowFilters: a search with a filter that lists ids finds them, and no deleted ones.
func (s suite) narrowFilters(t *testing.T) {
	const n, dim = 1000, 8
	ix, v := s.filled(t, n, dim)
	listed := []uint64{7, 70, 350, 700, 999}
	allow := func(id uint64) bool { return slices.Contains(listed, id) }
	for _, gone := range [][]uint64{nil, {700}, {700, 7}} {
		ix.Delete(gone)
		want := Exact(s.metric, v[:dim], v, n, dim, func(id uint64) bool { return allow(id) && !slices.Contains(gone, id) })[:3]
		if got := Search(t, ix, v[:dim], index.SearchOptions{K: 3, Allow: allow, Among: slices.Values(listed), Allowed: len(listed)}); len(got) != 3 || Common(got, want) != 3 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	Verify(t, ix)
}

// narrowFiltersBesideWrites: a search finds the ids that its filter lists, even while a writer moves them.
func (s suite) narrowFiltersBesideWrites(t *testing.T) {
	const n, dim = 600, 8
	ix, v := s.filled(t, n, dim)
	listed := IDs(9, 100)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := ix.Add(IDs(120, 0), v[:120*dim]); err != nil { // other slots for the same vectors
				done <- err
				return
			}
		}
	}()
	want := Exact(s.metric, v[:dim], v, n, dim, func(id uint64) bool { return slices.Contains(listed, id) })
	for range 100 {
		got := Search(t, ix, v[:dim], index.SearchOptions{K: 20, Allow: func(id uint64) bool { return slices.Contains(listed, id) }, Among: slices.Values(listed), Allowed: len(listed)})
		if len(got) != len(listed) || Common(got, want) != len(listed) {
			t.Errorf("%v, want %v", got, want)
			break
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	Verify(t, ix)
}

func (s suite) batches(t *testing.T) {
	for _, dim := range []int{1, 24, 600} {
		const n = 1100 // more than the flat indexes compare with in one step
		v, queries := texts(n, 270, dim)
		ix := s.new(t, index.Options{Dim: dim, M: 8, EfConstruction: 40})
		Add(t, ix, IDs(n, 0), v)
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
				if err := ix.SearchBatch(dst, q, so); err != nil {
					t.Fatal(err)
				}
				for i, got := range dst {
					want := Search(t, ix, q[i*dim:(i+1)*dim], so)
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
		Verify(t, ix)
	}
}
