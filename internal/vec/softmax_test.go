package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

func exactsoftmax(x []float32) []float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, float64(v))
	}
	out, s := make([]float64, len(x)), 0.0
	for i, v := range x {
		out[i] = math.Exp(float64(v) - m)
		s += out[i]
	}
	for i := range out {
		out[i] /= s
	}
	return out
}

func TestSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 131 {
		for _, spread := range []float32{0.01, 1, 20, 300} {
			x := random(r, n)
			for i := range x {
				x[i] *= spread
			}
			if n > 3 {
				x[r.IntN(n)] = float32(math.Inf(-1))
			}
			want := exactsoftmax(x)
			got := make([]float32, n+1)
			got[n] = 77
			softmax(got, x)
			if got[n] != 77 {
				t.Fatal("wrote behind the end")
			}
			for i, w := range want {
				// x[i]-max is rounded to float32
				below := math.Min(100, float64(largestGo(x)-x[i]))
				if math.Abs(float64(got[i])-w) > w*(1e-6+1.2e-7*below)+2e-38 {
					t.Fatalf("n %d, spread %g: %g at %d, want %g", n, spread, got[i], i, w)
				}
				if math.IsInf(float64(x[i]), -1) && got[i] != 0 {
					t.Fatalf("-Inf became %g", got[i])
				}
			}
			softmax(x, x)
			for i := range x {
				if x[i] != got[i] {
					t.Fatal("in place it is another")
				}
			}
		}
	}
}

func TestSoftmaxShowsNaN(t *testing.T) {
	for n := 1; n < 40; n++ {
		x := make([]float32, n)
		x[n*7%n] = float32(math.NaN())
		softmax(x, x)
		for i, v := range x {
			if v == v {
				t.Fatalf("n %d: component %d is %g, want NaN", n, i, v)
			}
		}
	}
}

func TestExpSum(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := 1; n < 70; n++ {
		x := random(r, n)
		const f = 20
		m := Max(x)
		dst := make([]float32, n)
		sum, want := ExpSum(dst, x, m, f), 0.0
		for i := range x {
			w := math.Exp(float64(x[i]-m) * f)
			want += w
			if math.Abs(float64(dst[i])-w) > w*1.5e-5+2e-38 {
				t.Fatalf("n %d: %g at %d, want %g", n, dst[i], i, w)
			}
		}
		if m != largestGo(x) || math.Abs(sum-want) > 1e-6*want {
			t.Fatalf("n %d: sum %g, want %g", n, sum, want)
		}
	}
	Scale(nil, 2)
}

// softmax writes the softmax of x into dst (which may be x).
func softmax(dst, x []float32) {
	if len(x) > 0 {
		Scale(dst[:len(x)], float32(1/ExpSum(dst, x, Max(x), 1)))
	}
}
