package index_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/vec"
)

type codes = index.Cells

// kept is Cells with the vectors it reads.
type kept struct {
	*codes
	vectors sync.Map // id → []float32
}

func newCells(t testing.TB, dim, n int) *kept {
	t.Helper()
	k := &kept{}
	var err error
	if k.codes, err = index.NewCells(dim, n, k.Vector); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kept) Vector(id uint64) []float32 {
	v, _ := k.vectors.Load(id)
	x, _ := v.([]float32)
	return x
}

// put gives ids the rows of v, at unit length where they have a length, and
// takes them into a cell.
func (k *kept) put(cell int, ids []uint64, v []float32) error {
	d := len(v) / max(1, len(ids))
	for i, id := range ids {
		row := slices.Clone(v[i*d : (i+1)*d])
		vec.Normalize(row)
		k.vectors.Store(id, row)
	}
	return k.Add(cell, ids)
}

func normals(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// everywhere probes all cells with q.
func everywhere(x *kept, q []float32) []index.Probe {
	p := make([]index.Probe, x.Cells())
	for i := range p {
		p[i] = index.Probe{Cell: i, Query: q}
	}
	return p
}

// With one query vector for all cells the answer is that of the flat index,
// ids and order, also among vectors that are nearly equal.
func TestCellsEqualFlat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, dim := range []int{1, 7, 64, 100, 384} {
		for _, spread := range []float32{1, 0.01} { // the second: codes cannot tell them apart
			const n, cells = 700, 9
			x := newCells(t, dim, cells)
			flat, err := index.New(index.KindFlat, index.Options{Dim: dim})
			if err != nil {
				t.Fatal(err)
			}
			centre := normals(r, dim)
			for id := range uint64(n) {
				v := normals(r, dim)
				for i := range v {
					v[i] = centre[i] + spread*v[i]
				}
				if id%50 == 49 { // the same vector once more
					v = slices.Clone(x.Vector(id - 1))
				}
				if err := x.put(r.IntN(cells), []uint64{id}, v); err != nil {
					t.Fatal(err)
				}
				if err := flat.Add([]uint64{id}, v); err != nil {
					t.Fatal(err)
				}
			}
			for trial := range 20 {
				q := normals(r, dim)
				if trial%2 == 0 {
					copy(q, centre)
				}
				vec.Normalize(q)
				for _, k := range []int{1, 10, 123, n, n + 5} {
					want, err := flat.Search(nil, q, index.SearchOptions{K: k})
					if err != nil {
						t.Fatal(err)
					}
					got, err := x.Search(nil, q, everywhere(x, q), index.SearchOptions{K: k})
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != len(want) {
						t.Fatalf("dim %d, k %d: %d answers, want %d", dim, k, len(got), len(want))
					}
					for i := range want {
						// Sums of one row differ by their order in the two kernels.
						if math.Abs(float64(1-got[i].Score-want[i].Distance)) > 2e-6 || math.Abs(float64(got[i].Score-got[i].Cosine)) > 2e-6 {
							t.Fatalf("dim %d, k %d, rank %d: %v, want %v", dim, k, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

// modelCells is the definition: every vector by the query of its cell.
type modelCells map[uint64]struct {
	cell int
	v    []float32
}

func (m modelCells) search(q []float32, probes []index.Probe, k int, allow func(uint64) bool) []index.Scored {
	var out []index.Scored
	for _, p := range probes {
		for id, e := range m {
			if e.cell != p.Cell || allow != nil && !allow(id) {
				continue
			}
			var s, c float64
			for i, v := range e.v {
				s += float64(p.Query[i]) * float64(v)
				c += float64(q[i]) * float64(v)
			}
			out = append(out, index.Scored{ID: id, Score: float32(s), Cosine: float32(c)})
		}
	}
	slices.SortFunc(out, func(a, b index.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(k, len(out))]
}

// TestCellsFollowAModel adds, moves and deletes at random and compares searches
// with a query vector of its own in each probed cell.
func TestCellsFollowAModel(t *testing.T) {
	const dim, cells = 40, 7
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 2))
		x, model := newCells(t, dim, cells), modelCells{}
		for step := range 3000 {
			id := r.Uint64N(300)
			if r.IntN(3) == 0 {
				_, present := model[id]
				if n := x.Delete([]uint64{id, id, 10_000}); (n == 1) != present {
					t.Fatalf("seed %d: deleted %d, present: %v", seed, n, present)
				}
				delete(model, id)
			} else {
				v, cell := normals(r, dim), r.IntN(cells)
				if err := x.put(cell, []uint64{id}, v); err != nil {
					t.Fatal(err)
				}
				vec.Normalize(v)
				e := model[id]
				e.cell, e.v = cell, v
				model[id] = e
			}
			if x.Len() != len(model) {
				t.Fatalf("seed %d: %d vectors, want %d", seed, x.Len(), len(model))
			}
			if step%30 != 0 {
				continue
			}
			q := normals(r, dim)
			vec.Normalize(q)
			var probes []index.Probe
			for _, c := range r.Perm(cells)[:1+r.IntN(cells)] {
				qc := normals(r, dim)
				for i := range qc {
					qc[i] = q[i] + float32(r.IntN(3))*qc[i]
				}
				probes = append(probes, index.Probe{Cell: c, Query: qc})
			}
			var allow func(uint64) bool
			if r.IntN(2) == 0 {
				allow = func(id uint64) bool { return id%3 == 1 }
			}
			k := 1 + r.IntN(40)
			want := model.search(q, probes, k, allow)
			got, err := x.Search(nil, q, probes, index.SearchOptions{K: k, Allow: allow})
			if err != nil || len(got) != len(want) {
				t.Fatalf("seed %d: %d answers, want %d; %v", seed, len(got), len(want), err)
			}
			for i := range want {
				if got[i].ID != want[i].ID && math.Abs(float64(got[i].Score-want[i].Score)) > 1e-5 ||
					math.Abs(float64(got[i].Score-want[i].Score)) > 1e-5*(1+math.Abs(float64(want[i].Score))) {
					t.Fatalf("seed %d, rank %d: %v, want %v", seed, i, got[i], want[i])
				}
			}
		}
	}
}

func TestCellsRefuse(t *testing.T) {
	for _, bad := range [][2]int{{0, 1}, {1 << 17, 1}, {3, 0}, {3, -1}} {
		if _, err := index.NewCells(bad[0], bad[1], func(uint64) []float32 { return nil }); !errors.Is(err, index.ErrOptions) {
			t.Errorf("NewCells(%v): %v", bad, err)
		}
	}
	if _, err := index.NewCells(2, 2, nil); !errors.Is(err, index.ErrOptions) {
		t.Errorf("without vectors: %v", err)
	}
	x := newCells(t, 2, 3)
	if err := x.Add(0, []uint64{77}); err == nil {
		t.Error("an id without a vector was taken in")
	}
	nan := float32(math.NaN())
	var dim *index.DimensionError
	if err := x.put(3, []uint64{1}, []float32{1, 0}); !errors.Is(err, index.ErrOptions) {
		t.Error(err)
	}
	if err := x.put(-1, nil, nil); !errors.Is(err, index.ErrOptions) {
		t.Error(err)
	}
	if err := x.put(0, []uint64{1}, []float32{1, 0, 0}); !errors.As(err, &dim) {
		t.Error(err)
	}
	if err := x.put(0, []uint64{1, 2}, []float32{1, 0, 0, 0}); !errors.Is(err, index.ErrZeroVector) {
		t.Error(err)
	}
	if err := x.put(0, []uint64{1}, []float32{1, nan}); !errors.Is(err, index.ErrNotFinite) {
		t.Error(err)
	}
	if x.Len() != 0 {
		t.Error("a refused vector was stored")
	}
	q := []float32{1, 0}
	if got, err := x.Search(nil, q, everywhere(x, q), index.SearchOptions{K: 3}); err != nil || len(got) != 0 {
		t.Errorf("empty: %v %v", got, err)
	}
	for name, c := range map[string]struct {
		q      []float32
		probes []index.Probe
		k      int
		want   error
	}{
		"k":          {q, everywhere(x, q), 0, index.ErrBadK},
		"nan":        {[]float32{nan, 0}, nil, 1, index.ErrNotFinite},
		"probe nan":  {q, []index.Probe{{0, []float32{0, nan}}}, 1, index.ErrNotFinite},
		"cell":       {q, []index.Probe{{3, q}}, 1, index.ErrOptions},
		"twice":      {q, []index.Probe{{1, q}, {1, q}}, 1, index.ErrOptions},
		"huge probe": {q, []index.Probe{{1, []float32{1e30, 1e30}}}, 1, index.ErrTooLarge},
	} {
		if _, err := x.Search(nil, c.q, c.probes, index.SearchOptions{K: c.k}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := x.Search(nil, []float32{1}, nil, index.SearchOptions{K: 1}); !errors.As(err, &dim) {
		t.Error(err)
	}
	if _, err := x.Search(nil, q, []index.Probe{{0, nil}}, index.SearchOptions{K: 1}); !errors.As(err, &dim) {
		t.Error(err)
	}
}

// A probe of zeros ranks by id; it is no error, as a shift may cancel q.
func TestCellsZeroProbe(t *testing.T) {
	x := newCells(t, 2, 1)
	if err := x.put(0, []uint64{9, 4, 7}, []float32{1, 0, 0, 1, 1, 1}); err != nil {
		t.Fatal(err)
	}
	got, err := x.Search(nil, []float32{1, 0}, []index.Probe{{0, make([]float32, 2)}}, index.SearchOptions{K: 2})
	if err != nil || len(got) != 2 || got[0].ID != 4 || got[1].ID != 7 {
		t.Fatalf("%v %v", got, err)
	}
}

func TestCellsConcurrently(t *testing.T) {
	const dim, cells = 16, 4
	x := newCells(t, dim, cells)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 3))
			for range 300 {
				id := r.Uint64N(100)
				switch r.IntN(4) {
				case 0:
					x.Delete([]uint64{id})
				case 1:
					if err := x.put(r.IntN(cells), []uint64{id}, normals(r, dim)); err != nil {
						t.Error(err)
					}
				default:
					q := normals(r, dim)
					got, err := x.Search(nil, q, everywhere(x, q), index.SearchOptions{K: 5})
					if err != nil || len(got) > 5 {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCells(b *testing.B) {
	const dim, n, cells = 384, 40_000, 40
	r := rand.New(rand.NewPCG(5, 5))
	x := newCells(b, dim, cells)
	for id := range uint64(n) {
		if err := x.put(int(id%cells), []uint64{id}, normals(r, dim)); err != nil {
			b.Fatal(err)
		}
	}
	q := normals(r, dim)
	vec.Normalize(q)
	probes := everywhere(x, q)
	var dst []index.Scored
	for b.Loop() {
		var err error
		if dst, err = x.Search(dst[:0], q, probes, index.SearchOptions{K: 10}); err != nil {
			b.Fatal(err)
		}
	}
}
