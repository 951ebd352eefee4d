package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// each runs f with every kernel of this machine.
func each(t *testing.T, f func(t *testing.T, kn *kernel)) {
	for _, kn := range kernels {
		t.Run(kn.name, func(t *testing.T) { f(t, kn) })
	}
}

// plain is the product by the definition, in float64.
func plain(a, b view, m, n, k int) []float32 {
	c := make([]float32, m*n)
	for i := range m {
		for j := range n {
			var s float64
			for p := range k {
				s += float64(a.data[i*a.rs+p*a.cs]) * float64(b.data[p*b.rs+j*b.cs])
			}
			c[i*n+j] = float32(s)
		}
	}
	return c
}

func near(t *testing.T, what string, got, want []float32, k int) {
	t.Helper()
	tol := 1e-6 * (4 + math.Sqrt(float64(k))*2)
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if math.IsNaN(g) != math.IsNaN(w) || math.IsInf(w, 0) && g != w || math.Abs(g-w) > tol*(1+math.Abs(w)) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, g, w)
		}
	}
}

func TestGemmAgreesWithTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := [][3]int{{1, 1, 1}, {1, 1, 0}, {8, 48, 1}, {8, 48, 8}, {7, 47, 9}, {9, 49, 7}, {16, 96, 130}, {5, 3, 17},
		{31, 101, 515}, {3, 200, 1025}, {64, 10, 33}, {2050, 3, 5}, {0, 5, 5}, {5, 0, 5}}
	for range 60 {
		shapes = append(shapes, [3]int{r.IntN(40), r.IntN(120), r.IntN(90)})
	}
	each(t, func(t *testing.T, kn *kernel) {
		for _, s := range shapes {
			m, n, k := s[0], s[1], s[2]
			off := r.IntN(3) // unaligned
			a, b := random(r, m*k+off)[off:], random(r, n*k+off)[off:]
			for name, v := range map[string][2]view{
				"NT": {{a, k, 1}, {b, 1, k}}, "NN": {{a, k, 1}, {b, n, 1}}, "TN": {{a, 1, m}, {b, n, 1}},
			} {
				ldc := n + r.IntN(3)
				c := make([]float32, m*ldc+5)
				for i := range c {
					c[i] = 77
				}
				gemm(kn, c, ldc, v[0], v[1], m, n, k)
				want := plain(v[0], v[1], m, n, k)
				for i := range m {
					near(t, fmt.Sprintf("%s %v row %d", name, s, i), c[i*ldc:i*ldc+n], want[i*n:i*n+n], k)
					for _, x := range c[i*ldc+n : (i+1)*ldc] {
						if x != 77 {
							t.Fatalf("%s %v: wrote between the rows of C", name, s)
						}
					}
				}
				for _, x := range c[m*ldc:] {
					if x != 77 {
						t.Fatalf("%s %v: wrote behind C", name, s)
					}
				}
			}
		}
	})
}

func TestGemmPropagatesNaNAndInf(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	each(t, func(t *testing.T, kn *kernel) {
		for _, s := range [][3]int{{8, 48, 16}, {9, 50, 17}, {3, 5, 7}} {
			m, n, k := s[0], s[1], s[2]
			a, b := random(r, m*k), random(r, n*k)
			a[r.IntN(m)*k+r.IntN(k)] = nan
			b[r.IntN(n)*k+r.IntN(k)] = inf
			b[r.IntN(n)*k+r.IntN(k)] = 0
			c := make([]float32, m*n)
			gemm(kn, c, n, view{a, k, 1}, view{b, 1, k}, m, n, k)
			near(t, fmt.Sprint(s), c, plain(view{a, k, 1}, view{b, 1, k}, m, n, k), k)
		}
	})
}

func TestMatMulParallelIsBitEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range [][3]int{{4, 500, 40}, {500, 4, 40}, {33, 1000, 384}, {1, 9, 5}, {200, 3, 600}} {
		m, n, k := s[0], s[1], s[2]
		a, b := random(r, m*k), random(r, n*k)
		for _, w := range []int{-1, 1, 2, 3, 64} {
			for name, f := range map[string]struct {
				one func(c, a, b []float32, m, n, k int)
				par func(c, a, b []float32, m, n, k, w int)
			}{"NT": {MatMulNT, MatMulNTParallel}, "NN": {MatMulNN, MatMulNNParallel}} {
				x, y := make([]float32, m*n), make([]float32, m*n)
				f.one(x, a, b, m, n, k)
				f.par(y, a, b, m, n, k, w)
				for i := range x {
					if x[i] != y[i] {
						t.Fatalf("%s %v, %d workers: element %d differs", name, s, w, i)
					}
				}
			}
		}
	}
}

func TestPackedIsBitEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var p Packed // used again for each shape
	for _, s := range [][3]int{{4, 500, 40}, {13, 1000, 384}, {64, 48, 1500}, {5, 0, 3}, {5, 3, 0}, {2100, 7, 5}, {9, 50, 513}} {
		m, n, k := s[0], s[1], s[2]
		a, b := random(r, m*k), random(r, n*k)
		want, got := make([]float32, m*n), random(r, m*n)
		MatMulNT(want, a, b, m, n, k)
		p.PackNT(b, n, k)
		p.Mul(got, a, m)
		for i := range want {
			if want[i] != got[i] {
				t.Fatalf("NT %v: element %d is %v, want %v", s, i, got[i], want[i])
			}
		}
		MatMulNN(want, a, b, m, n, k)
		p.PackNN(b, k, n)
		p.Mul(got, a, m)
		for i := range want {
			if want[i] != got[i] {
				t.Fatalf("NN %v: element %d is %v, want %v", s, i, got[i], want[i])
			}
		}
		if m > 4 { // rows do not depend on how many there are
			p.Mul(got[:n], a[(m-1)*k:], 1)
			for i, x := range want[(m-1)*n:] {
				if x != got[i] {
					t.Fatalf("NN %v, one row: element %d is %v, want %v", s, i, got[i], x)
				}
			}
		}
	}
}

func BenchmarkGemm(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{256, 4500, 384}, {256, 20000, 384}, {256, 384, 4500}, {64, 1024, 384}} {
		m, n, k := s[0], s[1], s[2]
		x, y, c := random(r, m*k), random(r, n*k), make([]float32, m*n)
		for _, kn := range kernels {
			for _, form := range []string{"NT", "NN", "TN"} {
				av, bv := view{x, k, 1}, view{y, 1, k}
				if form != "NT" {
					bv = view{y, n, 1}
				}
				if form == "TN" {
					av = view{x, 1, m}
				}
				b.Run(fmt.Sprintf("%s/%s/%dx%dx%d", kn.name, form, m, n, k), func(b *testing.B) {
					for b.Loop() {
						gemm(kn, c, n, av, bv, m, n, k)
					}
					b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
