package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAxpyWide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 70 {
		x, y, want := make([]float32, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float32(r.NormFloat64()), r.NormFloat64()
			want[i] = y[i] + 0.7*float64(x[i])
		}
		AxpyWide(y, 0.7, x)
		for i := range y {
			if math.Abs(y[i]-want[i]) > 1e-15 {
				t.Fatalf("length %d, component %d: %v, want %v", n, i, y[i], want[i])
			}
		}
	}
}

func TestSubTile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	for _, k := range []int{0, 1, 2, 7, 64, 129} {
		const ldc, gap = 11, 3
		lda := k + gap
		c, a, b := random(4*ldc), random(4*lda), random(8*k)
		want := append([]float64(nil), c...)
		for i := range 4 {
			for j := range 8 {
				for p := range k {
					want[i*ldc+j] -= a[i*lda+p] * b[p*8+j]
				}
			}
		}
		plain := append([]float64(nil), c...)
		SubTile(c, ldc, a, lda, b, k)
		subTileGo(plain, ldc, a, lda, b, k)
		for i := range c {
			if math.Abs(c[i]-want[i]) > 1e-12 || math.Abs(plain[i]-want[i]) > 1e-12 {
				t.Fatalf("k %d, number %d: %v, plain %v, want %v", k, i, c[i], plain[i], want[i])
			}
		}
	}
}

func BenchmarkSubTile(b *testing.B) {
	const k = 128
	c, x, y := make([]float64, 32), make([]float64, 4*k), make([]float64, 8*k)
	for b.Loop() {
		SubTile(c, 8, x, k, y, k)
	}
	b.ReportMetric(float64(b.N)*2*32*k/b.Elapsed().Seconds()/1e9, "GFlop/s")
}

func BenchmarkAxpyWide(b *testing.B) {
	const n = 1536
	y, x := make([]float64, n), make([]float32, n)
	for b.Loop() {
		AxpyWide(y, 1, x)
	}
}

func TestNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for n := range 40 {
		x, got := make([]float64, n), make([]float32, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		Narrow(got, x)
		for i := range x {
			if got[i] != float32(x[i]) {
				t.Fatalf("length %d, component %d: %v, want %v", n, i, got[i], float32(x[i]))
			}
		}
	}
}
