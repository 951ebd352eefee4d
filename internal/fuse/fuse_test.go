package fuse

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/testcorpus"
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
	q, p, shift := testcorpus.Unit(r, d), testcorpus.Unit(r, d), make([]float32, d)
	vec.Axpy(shift, 0.5, testcorpus.Unit(r, d))
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

// The gradient of FuseGrad against central differences of Fuse in float64.
func TestFuseGrad(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const d = 12
	for _, withShift := range []bool{false, true} {
		for range 20 {
			q, c := testcorpus.Unit(r, d), testcorpus.Unit(r, d) // the loss is c·out
			z := make([]float64, d)
			for i := range z {
				z[i] = r.NormFloat64()
			}
			var shift []float32
			if withShift {
				shift = testcorpus.Unit(r, d)
				for i := range shift {
					shift[i] *= 0.5
				}
			}
			out, mid := make([]float32, d), make([]float32, d)
			norm := Fuse(out, mid, q, slices.Clone(z), shift)
			dz := make([]float32, d)
			FuseGrad(dz, c, out, mid, norm)
			for i := range z {
				const h = 1e-5
				up, down := slices.Clone(z), slices.Clone(z)
				up[i] += h
				down[i] -= h
				want := (fuse64(q, up, shift, c) - fuse64(q, down, shift, c)) / (2 * h)
				if math.Abs(want-float64(dz[i])) > 1e-5 {
					t.Fatalf("shift %v, component %d: gradient %g, finite difference %g", withShift, i, dz[i], want)
				}
			}
		}
	}
}

// fuse64 is c·norm(norm(q ⊙ softmax(z)) + shift) in float64, straight from the
// equations.
func fuse64(q []float32, z []float64, shift, c []float32) float64 {
	v := make([]float64, len(q))
	var n1, n2, s float64
	for i := range v {
		v[i] = float64(q[i]) * math.Exp(z[i])
		n1 += v[i] * v[i]
	}
	for i := range v {
		v[i] /= math.Sqrt(n1)
		if shift != nil {
			v[i] += float64(shift[i])
		}
		n2 += v[i] * v[i]
	}
	for i := range v {
		s += v[i] / math.Sqrt(n2) * float64(c[i])
	}
	return s
}
