package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactDot and exactL2 are the definitions in float64.
func exactDot(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func exactL2(a, b []float32) (s float64) {
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		s += d * d
	}
	return s
}

// closeTo allows for the rounding of n additions of terms of the given size.
func closeTo(got float32, want, size float64, n int) bool {
	g := float64(got)
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return math.IsNaN(want) == math.IsNaN(g) && (math.IsNaN(want) || g == want)
	}
	return math.Abs(g-want) <= 1e-6*size*(1+math.Sqrt(float64(n)))+1e-30
}

func TestDotsOfAllLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 131 {
		for off := range 3 {
			q := random(r, n+off)[off:]
			rows := random(r, 11*n+off)[off:]
			row := func(i int) []float32 { return rows[i*n : (i+1)*n] }
			size := 3 * float64(n+1)
			if got, want := Dot(q, row(0)), exactDot(q, row(0)); !closeTo(got, want, size, 1) {
				t.Fatalf("Dot of %d: %g, want %g", n, got, want)
			}
			for rowsN := range 12 {
				out := make([]float32, rowsN+1)
				out[rowsN] = 77
				DotRows(out[:rowsN], q, rows)
				l2 := make([]float32, rowsN+1)
				l2[rowsN] = 77
				SquaredL2Rows(l2[:rowsN], q, rows)
				for i := range rowsN {
					if want := exactDot(q, row(i)); !closeTo(out[i], want, size, 1) {
						t.Fatalf("DotRows of %d×%d, row %d: %g, want %g", rowsN, n, i, out[i], want)
					}
					if want := exactL2(q, row(i)); !closeTo(l2[i], want, size, 1) {
						t.Fatalf("SquaredL2Rows of %d×%d, row %d: %g, want %g", rowsN, n, i, l2[i], want)
					}
				}
				if out[rowsN] != 77 || l2[rowsN] != 77 {
					t.Fatal("wrote behind out")
				}
			}
			y := random(r, n+1)
			want := append([]float32(nil), y...)
			for i := range n {
				want[i] += 1.5 * q[i]
			}
			Axpy(y[:n], 1.5, q)
			for i := range want {
				if !closeTo(y[i], float64(want[i]), 4, 1) {
					t.Fatalf("Axpy of %d, component %d: %g, want %g", n, i, y[i], want[i])
				}
			}
		}
	}
}

// TestPlacesAreEqual: equal rows have bit-equal products, whatever their place.
func TestPlacesAreEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{1, 5, 16, 31, 47, 384, 385} {
		q, v := random(r, n), random(r, n)
		for rows := 1; rows < 12; rows++ {
			var m []float32
			for range rows {
				m = append(m, v...)
			}
			dot, l2 := make([]float32, rows), make([]float32, rows)
			DotRows(dot, q, m)
			SquaredL2Rows(l2, q, m)
			var four [4]float32
			Dot4(&four, q, v, v, v, v)
			for i := range rows {
				if dot[i] != four[i%4] || l2[i] != l2[0] {
					t.Fatalf("%d×%d: %v, %v, %v", rows, n, dot, four, l2)
				}
			}
		}
	}
}

func TestDotsPropagateNaNAndInf(t *testing.T) {
	for n := 1; n < 100; n++ {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			q, v, one := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range q {
				q[i], v[i], one[i] = 1, 1, 1
			}
			v[n*7%n+(n*13)%n/2] = bad
			var dot, l2 [4]float32
			Dot4(&dot, q, one, v, one, v)
			SquaredL2x4(&l2, q, one, v, one, v)
			wantDot, wantL2 := exactDot(q, v), exactL2(q, v)
			for _, got := range []float32{Dot(q, v), dot[1], dot[3]} {
				if !closeTo(got, wantDot, 1, 1) {
					t.Fatalf("n %d: dot %g, want %g", n, got, wantDot)
				}
			}
			if !closeTo(l2[1], wantL2, 1, 1) || !closeTo(l2[3], wantL2, 1, 1) || dot[0] != float32(n) || l2[2] != 0 {
				t.Fatalf("n %d: %v %v", n, dot, l2)
			}
		}
	}
}

func TestNormalize(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, v := range [][]float32{nil, {0}, {0, 0, 0}, {1, float32(math.NaN())}, {inf, 1, 2}} {
		w := append([]float32(nil), v...)
		if Normalize(w) {
			t.Errorf("%v could be normalised", v)
		}
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(w[i]) {
				t.Errorf("%v was changed", v)
			}
		}
	}
	for _, v := range [][]float32{{3}, {1e-45, 0}, {3e38, 3e38, -3e38}, {1e-40, 2e-40, 1e-45}, {1, 2, 3, 4, 5}} {
		if !Normalize(v) || math.Abs(float64(Norm(v))-1) > 1e-6 {
			t.Errorf("%v has length %g", v, Norm(v))
		}
	}
	if Norm([]float32{3, 4}) != 5 || Norm(nil) != 0 {
		t.Error("Norm")
	}
	if !Finite([]float32{1, 3e38}) || Finite([]float32{1, inf}) || Finite([]float32{float32(math.NaN())}) || !Finite(nil) {
		t.Error("Finite")
	}
}

// FuzzDots holds all kernels to the definition on any numbers.
func FuzzDots(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, scale uint8) {
		n := len(data) / 2
		q, v := make([]float32, n), make([]float32, n)
		s := float32(math.Exp2(float64(scale%64) - 32))
		size, l2size := 0.0, 0.0
		for i := range n {
			q[i], v[i] = float32(int8(data[i]))*s, float32(int8(data[n+i]))
			size += math.Abs(float64(q[i]) * float64(v[i]))
			l2size += math.Pow(float64(q[i])-float64(v[i]), 2)
		}
		var dot, l2 [4]float32
		Dot4(&dot, q, v, q, v, v)
		SquaredL2x4(&l2, q, q, v, v, v)
		if want := exactDot(q, v); !closeTo(Dot(q, v), want, size, n) || !closeTo(dot[0], want, size, n) || dot[0] != dot[2] || dot[2] != dot[3] {
			t.Fatalf("dot %v, want %g", dot, want)
		}
		if want := exactL2(q, v); !closeTo(l2[1], want, l2size, n) || l2[1] != l2[3] || l2[0] != 0 {
			t.Fatalf("l2 %v, want %g", l2, want)
		}
	})
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{384, 768} {
		q, rows, out := random(r, n), random(r, 4*n), make([]float32, 4)
		b.Run(fmt.Sprintf("Dot/%d", n), func(b *testing.B) {
			for b.Loop() {
				Dot(q, rows[:n])
			}
		})
		b.Run(fmt.Sprintf("DotRows4/%d", n), func(b *testing.B) {
			for b.Loop() {
				DotRows(out, q, rows)
			}
		})
		b.Run(fmt.Sprintf("SquaredL2Rows4/%d", n), func(b *testing.B) {
			for b.Loop() {
				SquaredL2Rows(out, q, rows)
			}
		})
	}
}

func BenchmarkSoftmax(b *testing.B) {
	x := random(rand.New(rand.NewPCG(1, 1)), 20000)
	y := make([]float32, len(x))
	for b.Loop() {
		softmax(y, x)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(x)), "ns/element")
}

// TestDotAxpy4 holds it to the definition, for all short lengths.
func TestDotAxpy4(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 4))
	for n := range 70 {
		x, f := random(r, n), [4]float32(random(r, 4))
		var rows [4][]float32
		for k := range rows {
			rows[k] = random(r, n)
		}
		before := random(r, n+1)
		out, y := [4]float32{9, 9, 9, 9}, slices.Clone(before)
		DotAxpy4(&out, y[:n], &f, x, rows[0], rows[1], rows[2], rows[3])
		if y[n] != before[n] {
			t.Fatalf("of %d wrote behind y", n)
		}
		for k, row := range rows {
			if want := exactDot(x, row); math.Abs(float64(out[k])-want) > 1e-4 {
				t.Fatalf("of %d, product %d: %g, want %g", n, k, out[k], want)
			}
		}
		for i := range n {
			want := float64(before[i])
			for k, row := range rows {
				want += float64(f[k]) * float64(row[i])
			}
			if math.Abs(float64(y[i])-want) > 1e-5 {
				t.Fatalf("of %d, component %d: %g, want %g", n, i, y[i], want)
			}
		}
	}
}
