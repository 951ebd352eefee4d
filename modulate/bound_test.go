package modulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
)

func deviation(z []float64) float64 {
	var mean, ss float64
	for _, x := range z {
		mean += x / float64(len(z))
	}
	for _, x := range z {
		ss += (x - mean) * (x - mean) / float64(len(z))
	}
	return math.Sqrt(ss)
}

// Bounded logits point where they did and spread no further than the bound, and
// what is within the bound stays as it is to the bit.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		z := make([]float64, 2+r.IntN(50))
		size := math.Exp(8 * (r.Float64() - 0.5))
		for i := range z {
			z[i] = size * r.NormFloat64()
		}
		was, before := deviation(z), slices.Clone(z)
		gain := Bound(z, 0.6)
		if was <= 0.6 {
			if gain != 1 || !slices.Equal(z, before) {
				t.Fatalf("deviation %v: gain %v", was, gain)
			}
			continue
		}
		if d := deviation(z); math.Abs(d-0.6) > 1e-9 || gain >= 1 {
			t.Fatalf("deviation %v became %v by the gain %v", was, d, gain)
		}
		for i := range z {
			if z[i] != gain*before[i] {
				t.Fatalf("component %d: %v from %v by the gain %v", i, z[i], before[i], gain)
			}
		}
	}
	z := []float64{3, 3, 3}
	if Bound(z, 0.1) != 1 || Bound(z, 0) != 1 || z[0] != 3 {
		t.Errorf("equal logits became %v", z)
	}
}

// The gradient through Bound and Fuse is that of finite differences.
func TestBoundGrad(t *testing.T) {
	const d, spread = 12, 0.6
	r := rand.New(rand.NewPCG(7, 8))
	q, p, shift := unit(r, d), unit(r, d), make([]float32, d)
	vec.Axpy(shift, 0.5, unit(r, d))
	z := make([]float64, d)
	for i := range z {
		z[i] = 2 * r.NormFloat64()
	}
	out, mid := make([]float32, d), make([]float32, d)
	forward := func(z []float64) (score float64, bounded []float64, gain, norm float64) {
		bounded = slices.Clone(z)
		gain = Bound(bounded, spread)
		norm = Fuse(out, mid, q, slices.Clone(bounded), shift)
		for i, x := range out {
			score += float64(x) * float64(p[i])
		}
		return
	}
	_, bounded, gain, norm := forward(z)
	if gain >= 1 {
		t.Fatal("the bound does not bind")
	}
	dz := make([]float32, d)
	FuseGrad(dz, p, out, mid, norm)
	BoundGrad(dz, bounded, spread, gain)
	for i := range z {
		const h = 1e-3
		z[i] += h
		up, _, _, _ := forward(z)
		z[i] -= 2 * h
		down, _, _, _ := forward(z)
		z[i] += h
		if want := (up - down) / (2 * h); math.Abs(want-float64(dz[i])) > 2e-4 {
			t.Errorf("component %d: gradient %v, finite difference %v", i, dz[i], want)
		}
	}
}
