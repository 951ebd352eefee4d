package index

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestVerifyHoldsCodesToVectors: a code, a scale or a norm that is not that of its
// vector is found, and codes of every kind of vector are content.
func TestVerifyHoldsCodesToVectors(t *testing.T) {
	const dim, n = 24, 300
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, dim*n)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	for i, tiny := range []float32{0x1p-140, 0x1p-130, 0x1p-100, 1e10} { // codes of rows at the ends of float32
		for j := range dim {
			rows[i*dim+j] *= tiny
		}
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i)
	}
	for _, kind := range []string{KindFlatInt8, KindHNSWInt8, KindHNSWCompact} {
		for _, metric := range []string{"cosine", "dot", "l2"} {
			x, err := New(kind, Options{Dim: dim, Metric: metric})
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Add(ids[2:], rows[2*dim:]); err != nil { // the first ones have no direction
				t.Fatal(err)
			}
			var b *base
			switch x := x.(type) {
			case *flat:
				b = &x.base
			case *hnsw:
				b = &x.base
			}
			verify := func() error { return x.Verify(t.Context()) }
			if err := verify(); err != nil {
				t.Fatalf("%s, %s: %v", kind, metric, err)
			}
			slot, _ := b.slots.get(77)
			c := &b.mem.Load().codes
			code, scale := c.rows.row(slot), c.scales.row(slot)
			for name, plant := range map[string]func() (undo func()){
				"code":  func() func() { code[3] += 1; return func() { code[3] -= 1 } },
				"scale": func() func() { old := scale[0]; scale[0] *= 1.01; return func() { scale[0] = old } },
				"none":  func() func() { old := scale[0]; scale[0] = 0; return func() { scale[0] = old } },
				"lost": func() func() {
					if c.by != byInt4 {
						return nil
					}
					lost := c.losts.row(slot)
					lost[0]--
					return func() { lost[0]++ }
				},
				"norm": func() func() {
					if c.m.unit {
						return nil
					}
					norm := c.norms.row(slot)
					old := norm[0]
					norm[0] *= 1.01
					return func() { norm[0] = old }
				},
			} {
				undo := plant()
				if undo == nil {
					continue
				}
				if err := verify(); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s, %s, a wrong %s: %v", kind, metric, name, err)
				}
				undo()
			}
			if err := verify(); err != nil {
				t.Fatalf("%s, %s, mended: %v", kind, metric, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := x.Unreachable(ended); kind != KindFlatInt8 && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: Unreachable without time: %v", kind, err)
			}
		}
	}
}
