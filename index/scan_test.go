package index

import (
	"math/rand/v2"
	"testing"
)

// The bound of what codes tell must allow for the rounding of float32 sums
// (slack). In these vectors the codes err as much as they can, all in one
// direction; equal summands make sums round in one direction as well, some in
// the same.
func TestBoundAllowsForTheRoundingOfSums(t *testing.T) {
	const n, dim = 120, 16384
	r := rand.New(rand.NewPCG(1, 2))
	f := newFlat(KindFlatInt8, Options{Dim: dim, Metric: Dot}.withDefaults(kind{}), byInt8)
	v, ids := make([]float32, n*dim), make([]uint64, n)
	for i := range n {
		ids[i] = uint64(i)
		step := 1 + r.Float32()
		row := v[i*dim : (i+1)*dim]
		row[0] = 127 * step
		for j := 1; j < dim; j++ {
			row[j] = 63.5 * step // between two codes
		}
	}
	if err := f.Add(ids, v); err != nil {
		t.Fatal(err)
	}
	q := make([]float32, dim)
	for i := range q {
		q[i] = 1
	}
	truth := make([]float32, n)
	if err := f.Scores(truth, q, ids); err != nil {
		t.Fatal(err)
	}
	s := newScanner(f.now.mem, nil)
	s.begin(f.now, q, SearchOptions{K: n})
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	if len(s.near) != n {
		t.Fatalf("%d of %d", len(s.near), n)
	}
	for _, m := range s.near {
		if d := truth[f.now.mem.id(m.slot)]; d < m.low {
			t.Errorf("distance %g is below its bound %g", d, m.low)
		}
	}
}
