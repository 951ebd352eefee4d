package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactGELU is x·Φ(x) in float64.
func exactGELU(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }

func TestAddGELURows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 70 {
		ldc, rows := n+r.IntN(5), 1+r.IntN(4)
		c, bias := random(r, rows*ldc+3), random(r, n)
		for i := range c {
			c[i] *= float32(1 + r.IntN(8))
		}
		want := slices.Clone(c)
		AddGELURows(c, ldc, rows, bias)
		for i, w := range want {
			if i/max(1, ldc) < rows && ldc > 0 && i%ldc < n {
				y := w + bias[i%ldc]
				if e := math.Abs(float64(c[i]) - exactGELU(float64(y))); !(e <= 2e-7*math.Abs(float64(y))+1e-30) {
					t.Fatalf("n %d: GELU(%g) is %g, off by %g", n, y, c[i], e)
				}
			} else if c[i] != w {
				t.Fatalf("n %d: wrote outside the rows, at %d", n, i)
			}
		}
	}
}

// The polynomial and the assembly, on the whole line.
func TestGELUEverywhere(t *testing.T) {
	const n = 1 << 12
	c, bias := make([]float32, n), make([]float32, n)
	for i := range c {
		c[i] = float32(i-n/2) / 200
	}
	x := slices.Clone(c)
	AddGELURows(c, n, 1, bias)
	for i, v := range x {
		for _, got := range []float32{c[i], gelu(v)} {
			if e := math.Abs(float64(got) - exactGELU(float64(v))); !(e <= 2e-7*math.Abs(float64(v))) {
				t.Fatalf("GELU(%g) is %g, off by %g", v, got, e)
			}
		}
	}
	inf := float32(math.Inf(1))
	row := slices.Repeat([]float32{inf}, 16)
	if AddGELURows(row, 16, 1, bias[:16]); row[3] != inf || gelu(inf) != inf {
		t.Errorf("GELU(+Inf) is %g and %g", row[3], gelu(inf))
	}
	for n := 1; n < 40; n++ {
		row := slices.Repeat([]float32{float32(math.NaN())}, n)
		AddGELURows(row, n, 1, bias[:n])
		for _, v := range row {
			if v == v {
				t.Fatalf("%d columns: NaN became %g", n, v)
			}
		}
	}
}

func TestAddNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	const eps = 1e-5
	for n := range 130 {
		a, b, c, scale, shift := random(r, n), random(r, n), random(r, n), random(r, n), random(r, n)
		mean, variance := 0.0, 0.0
		for i := range n {
			a[i] += 3
			mean += (float64(a[i]) + float64(b[i]) + float64(c[i])) / float64(n)
		}
		for i := range n {
			d := float64(a[i]) + float64(b[i]) + float64(c[i]) - mean
			variance += d * d / float64(n)
		}
		got, twin := make([]float32, n), make([]float32, n)
		AddNorm(got, a, b, c, scale, shift, eps)
		if n > 0 {
			addNormGo(twin, a, b, c, scale, shift, eps)
		}
		for i := range n {
			want := (float64(a[i])+float64(b[i])+float64(c[i])-mean)/math.Sqrt(variance+eps)*float64(scale[i]) + float64(shift[i])
			// one of a few numbers may be near the mean of them, so that little of its difference is left
			if tol := 2e-6 * (1 + 3/math.Sqrt(variance+eps)) * (1 + math.Abs(want)); math.Abs(float64(got[i])-want) > tol || math.Abs(float64(twin[i])-want) > tol {
				t.Fatalf("n %d: element %d is %g and %g, want %g", n, i, got[i], twin[i], want)
			}
		}
		if AddNorm(a, a, b, c, scale, shift, eps); !slices.Equal(a, got) {
			t.Fatalf("n %d: in place it is another", n)
		}
	}
}

// A product of strided matrices is that of the matrices, with each block handed
// over once, done.
func TestPackedOf(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		m, n, k := r.IntN(40), r.IntN(120), r.IntN(1200)
		lda, ldb, ldc := k+r.IntN(9), k+r.IntN(9), n+r.IntN(9)
		a, b, c := random(r, m*lda+1), random(r, n*ldb+1), random(r, m*ldc+1)
		want := plain(view{a, lda, 1}, view{b, 1, ldb}, m, n, k)
		old := slices.Clone(c)
		var p Packed
		p.PackNTOf(b, ldb, n, k)
		seen := make([]int, m*n)
		p.MulOf(c, ldc, a, lda, m, func(block []float32, stride, rows, from, w int) {
			for i := range rows {
				for j := range w {
					seen[i*n+from+j]++
					block[i*stride+j] *= 2
				}
			}
		})
		got := make([]float32, m*n)
		for i := range c {
			if ldc > 0 && i/ldc < m && i%ldc < n {
				got[i/ldc*n+i%ldc] = c[i] / 2
			} else if c[i] != old[i] {
				t.Fatalf("%d×%d×%d: wrote outside C", m, n, k)
			}
		}
		near(t, "product", got, want, k)
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d×%d×%d: element %d was handed over %d times", m, n, k, i, times)
			}
		}
		nn := make([]float32, k*(n+2)+1) // Bᵀ
		for i := range k {
			for j := range n {
				nn[i*(n+2)+j] = b[j*ldb+i]
			}
		}
		p.PackNNOf(nn, n+2, k, n)
		p.MulOf(c, ldc, a, lda, m, nil)
		for i := range m {
			copy(got[i*n:(i+1)*n], c[i*ldc:])
		}
		near(t, "product with rows apart", got, want, k)
	}
}

func TestAddRows(t *testing.T) {
	c := []float32{1, 2, 3, 4, 5, 6}
	AddRows(c, 3, 2, []float32{10, 20})
	if !slices.Equal(c, []float32{11, 22, 3, 14, 25, 6}) {
		t.Error(c)
	}
}

// A matrix that is too short is not read or written beyond its end.
func TestPackedTooShort(t *testing.T) {
	const n, k, m = 8, 8, 8
	full := make([]float32, 100)
	var p Packed
	for name, f := range map[string]func(){
		"Bᵀ": func() { p.PackNTOf(full[:7*10+k-1:7*10+k-1], 10, n, k) },
		"B":  func() { p.PackNNOf(full[:7*10+n-1:7*10+n-1], 10, k, n) },
		"A":  func() { p.PackNT(full, n, k); p.MulOf(full, n, full[:7*10+k-1:7*10+k-1], 10, m, nil) },
		"C":  func() { p.PackNT(full, n, k); p.MulOf(full[:7*10+n-1:7*10+n-1], 10, full, k, m, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
