package local

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// placed are bridges of rows without tokens, row i in cell[i].
func placed(t testing.TB, dim, cells int, rows [][]float32, cell []int) *Bridges {
	t.Helper()
	b, err := New(dim, 1, func(id uint64) []float32 { return rows[id] }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]member, len(rows))
	for i := range all {
		all[i].id = uint64(i)
	}
	p := &partition{dim: dim, centroids: make([]float32, dim*cells)}
	if b, err = b.over(ctx, p, all, cell); err != nil {
		t.Fatal(err)
	}
	return b
}

// exact is the definition: every vector by the query of its cell, in float64.
func exact(rows [][]float32, cell []int, probes []Probe, allow func(uint64) bool) []Scored {
	var out []Scored
	for _, p := range probes {
		for id, v := range rows {
			if cell[id] != p.Cell || allow != nil && !allow(uint64(id)) {
				continue
			}
			var s float64
			for i, x := range v {
				s += float64(p.Query[i]) * float64(x)
			}
			out = append(out, Scored{uint64(id), float32(s)})
		}
	}
	slices.SortFunc(out, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	return out
}

// The answer is that of the definition, also among vectors that are nearly or
// exactly equal, which codes cannot tell apart.
func TestSearchIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, dim := range []int{1, 7, 64, 100, 384} {
		for _, spread := range []float32{0.9, 0.01, 1e-4} {
			const n, cells = 700, 9
			centre := unit(r, dim)
			rows, cell := make([][]float32, n), make([]int, n)
			for id := range rows {
				v := unit(r, dim)
				for i := range v {
					v[i] = centre[i] + spread*v[i]
				}
				vec.Normalize(v)
				if rows[id], cell[id] = v, r.IntN(cells); id%50 == 49 {
					rows[id] = rows[id-1] // the same once more
				}
			}
			b := placed(t, dim, cells, rows, cell)
			for trial := range 10 {
				q := unit(r, dim)
				if trial%2 == 0 {
					q = slices.Clone(centre)
				}
				var probes []Probe
				for _, c := range r.Perm(cells)[:1+r.IntN(cells)] {
					x := slices.Clone(q)
					if trial%3 > 0 {
						vec.Axpy(x, float32(trial)*spread, unit(r, dim))
					}
					probes = append(probes, Probe{c, x})
				}
				var allow func(uint64) bool
				if trial%4 == 3 {
					allow = func(id uint64) bool { return id%3 == 1 }
				}
				all := exact(rows, cell, probes, allow)
				score := map[uint64]float32{}
				for _, s := range all {
					score[s.ID] = s.Score
				}
				for _, k := range []int{1, 10, 123, n, n + 5} {
					got, err := b.Search(ctx, nil, probes, k, allow)
					if err != nil || len(got) != min(k, len(all)) {
						t.Fatalf("dim %d, k %d: %d answers of %d; %v", dim, k, len(got), len(all), err)
					}
					for i, g := range got {
						// Sums in float32 and float64 differ: so may the order where scores do by less.
						if math.Abs(float64(g.Score-score[g.ID])) > 4e-6 || math.Abs(float64(g.Score-all[i].Score)) > 4e-6 {
							t.Fatalf("dim %d, spread %g, k %d, rank %d: %v, want %v", dim, spread, k, i, g, all[i])
						}
						if i > 0 && (g.Score > got[i-1].Score || g.Score == got[i-1].Score && g.ID < got[i-1].ID) {
							t.Fatalf("dim %d, rank %d: %v after %v", dim, i, g, got[i-1])
						}
					}
				}
			}
		}
	}
}

// The search for k gives the first k of the search for all, bit for bit: no
// bound leaves out what belongs to the answer.
func TestSearchOfFewIsThatOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const n, cells, dim = 3000, 5, 40
	rows, cell := make([][]float32, n), make([]int, n)
	centre := unit(r, dim)
	for id := range rows {
		v := slices.Clone(centre)
		vec.Axpy(v, float32(math.Pow(10, -float64(r.IntN(6)))), unit(r, dim))
		vec.Normalize(v)
		rows[id], cell[id] = v, r.IntN(cells)
	}
	b := placed(t, dim, cells, rows, cell)
	for range 30 {
		q := unit(r, dim)
		vec.Axpy(q, float32(r.IntN(3)), centre)
		var probes []Probe
		for c := range cells {
			x := slices.Clone(q)
			vec.Axpy(x, float32(math.Pow(10, -float64(r.IntN(6)))), unit(r, dim))
			probes = append(probes, Probe{c, x})
		}
		all, err := b.Search(ctx, nil, probes, n, nil)
		if err != nil || len(all) != n {
			t.Fatal(len(all), err)
		}
		for _, k := range []int{1, 2, 10, 100, n - 1} {
			got, err := b.Search(ctx, []Scored{{ID: 42}}, probes, k, nil)
			if err != nil || got[0].ID != 42 || !slices.Equal(got[1:], all[:k]) {
				t.Fatalf("k %d: not the first of all; %v", k, err)
			}
		}
	}
}

// All of the bound is needed: passages that come first by their vectors, and by
// their codes come last by nearly as much as codes can err.
func TestBoundIsNeeded(t *testing.T) {
	const dim = 256
	r := rand.New(rand.NewPCG(4, 1))
	signs := make([]float32, dim)
	for i := range signs {
		signs[i] = float32(2*r.IntN(2) - 1)
	}
	// lossy is a vector of about unit length whose codes c miss it by 0.49 of
	// their step in the direction of signs, and c·signs is lean·dim.
	lossy := func(lean, miss float64) []float32 {
		c := make([]float64, dim)
		for i := range c {
			c[i] = (float64(60+r.IntN(40)) * float64(2*(i%2)-1)) * float64(signs[i])
		}
		for sum := 0.0; ; { // push c·signs to where it shall be
			c[0], c[1], sum = 127*float64(signs[0]), -127*float64(signs[1]), 0 // these set the step
			for i := range c {
				sum += c[i] * float64(signs[i])
			}
			if math.Abs(sum-lean*dim) < 1 {
				break
			}
			i := 2 + r.IntN(dim-2)
			c[i] = min(max(c[i]+math.Copysign(1, lean*dim-sum)*float64(signs[i]), -120), 120)
		}
		v := make([]float32, dim)
		norm := 0.0
		for i := range v {
			x := c[i]
			if i > 1 {
				x += miss * float64(signs[i])
			}
			norm += x * x
			v[i] = float32(x)
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(norm))
		}
		return v
	}
	flat := make([]float32, dim) // codes ±127, nothing lost
	for i := range flat {
		flat[i] = signs[i] / 16
	}
	against := slices.Clone(flat)
	for i := range against {
		against[i] = -against[i]
	}
	for name, c := range map[string]struct {
		rows  [][]float32
		query []float32
	}{
		"vectors lose": {[][]float32{lossy(0.1, 0.49), lossy(0.9, -0.49)}, flat},
		"queries lose": {[][]float32{flat, against}, lossy(-0.2, 0.49)},
	} {
		b := placed(t, dim, 1, c.rows, []int{0, 0})
		first := exact(c.rows, []int{0, 0}, []Probe{{0, c.query}}, nil)[0]
		code := make([]int8, dim)
		scale := vec.QuantizeInt8(code, c.query)
		cell, err := b.cell(0)
		if err != nil {
			t.Fatal(err)
		}
		dots := make([]int32, 2)
		vec.DotInt8Rows(dots, code, cell.codes)
		if by := scale * (float32(dots[0])*cell.scale[0] - float32(dots[1])*cell.scale[1]); first.ID != 0 || by >= 0 {
			t.Fatalf("%s: the codes do not mislead: passage %d is first, codes differ by %g", name, first.ID, by)
		}
		if got, err := b.Search(ctx, nil, []Probe{{0, c.query}}, 1, nil); err != nil || got[0].ID != first.ID {
			t.Errorf("%s: %v, want passage %d first; %v", name, got, first.ID, err)
		}
	}
}

// The bound allows for the rounding of sums: here nothing is lost by codes, and
// passages differ by about as much as sums in float32 do.
func TestBoundAllowsForRounding(t *testing.T) {
	const dim, n, ones = 4360, 300, 300
	r := rand.New(rand.NewPCG(5, 1))
	q, row := make([]float32, dim), make([]float32, dim)
	for i := range q {
		q[i] = float32(121+r.IntN(7)) / 8192
		row[i] = q[i]
		if i < ones {
			q[i] = 1.0 / 8192
		}
	}
	row[dim-1], q[dim-1] = 127.0/8192, 127.0/8192
	rows := make([][]float32, n)
	for k := range rows {
		v := slices.Clone(row)
		for i := range ones {
			v[i] += float32(r.IntN(5)-4) / 8192
		}
		rows[k] = v
	}
	b := placed(t, dim, 1, rows, make([]int, n))
	if c, err := b.cell(0); err != nil || c.lost != 0 {
		t.Fatalf("codes lose %v; %v", c.lost, err)
	}
	for range 20 {
		for i := range ones {
			q[i] = float32(2*r.IntN(2)-1) / 8192
		}
		probes := []Probe{{0, q}}
		all, err := b.Search(ctx, nil, probes, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := 1; k < 20; k++ {
			if got, err := b.Search(ctx, nil, probes, k, nil); err != nil || !slices.Equal(got, all[:k]) {
				t.Fatalf("k %d: %v, want %v; %v", k, got, all[:k], err)
			}
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	rows := [][]float32{{1, 0}, {0, 1}, {0.6, 0.8}}
	b := placed(t, 2, 3, rows, []int{0, 0, 2})
	q, nan := []float32{1, 0}, float32(math.NaN())
	for name, c := range map[string]struct {
		probes []Probe
		k      int
	}{
		"k":         {[]Probe{{0, q}}, 0},
		"nan":       {[]Probe{{0, []float32{0, nan}}}, 1},
		"dimension": {[]Probe{{0, nil}}, 1},
		"cell":      {[]Probe{{3, q}}, 1},
		"below":     {[]Probe{{-1, q}}, 1},
		"twice":     {[]Probe{{1, q}, {1, q}}, 1},
		"huge":      {[]Probe{{1, []float32{1e30, 1e30}}}, 1},
	} {
		if _, err := b.Search(ctx, nil, c.probes, c.k, nil); !errors.Is(err, modulate.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := b.Search(ctx, nil, []Probe{{1, q}}, 3, nil); err != nil || len(got) != 0 {
		t.Errorf("an empty cell: %v %v", got, err)
	}
	// zeros rank by id; they are no error, as a shift may cancel q
	if got, err := b.Search(ctx, nil, []Probe{{2, q}, {0, make([]float32, 2)}}, 3, nil); err != nil || len(got) != 3 || got[1].ID != 0 || got[2].ID != 1 {
		t.Errorf("%v %v", got, err)
	}
	kept := rows[2]
	rows[2] = nil
	if _, err := b.Search(ctx, nil, []Probe{{2, q}}, 3, nil); !errors.Is(err, modulate.ErrPassage) {
		t.Errorf("a vector is missing: %v", err)
	}
	rows[2] = kept
}

// A search looks at its context at least every few thousand rows and at every
// cell, also while it scores exactly.
func TestSearchLooksAtItsContext(t *testing.T) {
	const n, dim = 6000, 8
	r := rand.New(rand.NewPCG(3, 1))
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = unit(r, dim)
	}
	b := placed(t, dim, 1, rows, make([]int, n))
	q := unit(r, dim)
	for _, after := range []int{0, scanned + 1, n + 1} {
		stopped, cancel := context.WithCancel(ctx)
		asked := 0
		allow := func(uint64) bool {
			if asked == after {
				cancel()
			}
			asked++
			return true
		}
		vectors := b.vectors
		scored := 0
		b.vectors = func(id uint64) []float32 {
			if scored++; after > n {
				cancel()
			}
			return vectors(id)
		}
		if _, err := b.Search(stopped, nil, []Probe{{0, q}}, n, allow); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d: %v", after, err)
		}
		if asked > after+scanned || after > n && scored > scoredOnce {
			t.Errorf("after %d: %d rows and %d scores", after, asked, scored)
		}
		b.vectors = vectors
		cancel()
	}
}
