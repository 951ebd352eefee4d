package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// each8 runs f with every kernel of this machine.
func each8(t *testing.T, f func(t *testing.T, kn *kernel8)) {
	for _, kn := range kernels8 {
		t.Run(kn.name, func(t *testing.T) { f(t, kn) })
	}
}

func bitEqual(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) { // a NaN may be any
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// coded is the product by the definition: codes made one by one, sums in int64.
func coded(a, b view, m, n, k int) []float32 {
	weights, scales := make([]int64, n*k), make([]float32, n)
	for j := range n {
		var top float32
		for p := range k {
			x, y := b.data[p*b.rs+j*b.cs], float32(0)
			if p%2 == 0 && p+1 < k {
				y = b.data[(p+1)*b.rs+j*b.cs]
			}
			if x < 0 == (y < 0) {
				x += y
			}
			top = max(top, x, -x, y, -y)
		}
		if scales[j] = top / 127; top == 0 {
			continue
		}
		for p := range k {
			weights[j*k+p] = int64(math.RoundToEven(float64(float32(b.data[p*b.rs+j*b.cs] * (1 / scales[j])))))
		}
	}
	c, codes := make([]float32, m*n), make([]int64, k)
	for i := range m {
		for from := 0; from < k; from += 128 {
			to := min(k, from+128)
			var lo, hi float32
			for p := from; p < to; p++ {
				lo, hi = min(lo, a.data[i*a.rs+p]), max(hi, a.data[i*a.rs+p])
			}
			if lo == hi {
				continue
			}
			scale := hi/255 - lo/255
			zero := math.RoundToEven(float64(float32(-lo * (1 / scale))))
			for p := from; p < to; p++ {
				codes[p] = int64(max(0, min(math.RoundToEven(float64(float32(a.data[i*a.rs+p]*(1/scale))))+zero, 255)))
			}
			for j := range n {
				var sum, all int64
				for p, w := range weights[j*k+from : j*k+to] {
					sum += codes[from+p] * w
					all += w
				}
				c[i*n+j] += float32(float32(float32(float64(float32(sum))-zero*float64(all))*scale) * scales[j])
			}
		}
	}
	return c
}

func TestPacked8IsWhatItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	shapes := [][3]int{{1, 1, 1}, {1, 1, 0}, {8, 48, 4}, {8, 48, 64}, {7, 47, 9}, {9, 49, 7}, {16, 96, 130}, {5, 3, 17},
		{31, 101, 515}, {3, 200, 1025}, {64, 10, 33}, {2050, 3, 5}, {0, 5, 5}, {5, 0, 5}, {4, 24, 1536}, {12, 72, 3}}
	for range 60 {
		shapes = append(shapes, [3]int{r.IntN(40), r.IntN(120), r.IntN(90)})
	}
	each8(t, func(t *testing.T, kn *kernel8) {
		for _, s := range shapes {
			m, n, k := s[0], s[1], s[2]
			lda, ldc := k+r.IntN(3), n+r.IntN(3)
			a, b := random(r, m*lda+1)[1:], random(r, n*k) // unaligned
			if r.IntN(3) == 0 {
				for i := range a {
					a[i] = float32(math.Abs(float64(a[i]))) // zero point 0, as behind a GELU
				}
			}
			for name, v := range map[string]view{"NT": {b, 1, k}, "NN": {b, n, 1}} {
				var p Packed8
				p.pack(kn, v, n, k)
				c := make([]float32, m*ldc+5)
				for i := range c {
					c[i] = 77
				}
				p.MulOf(c, ldc, a, lda, m, nil)
				want := coded(view{a, lda, 1}, v, m, n, k)
				for i := range m {
					bitEqual(t, fmt.Sprintf("%s %v row %d", name, s, i), c[i*ldc:i*ldc+n], want[i*n:i*n+n])
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

// TestPacked8NearTheFloats holds the error to what rounding by half a step on
// either side can make of it.
func TestPacked8NearTheFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	const m, n, k = 13, 61, 384
	a, b := random(r, m*k), random(r, n*k)
	var p Packed8
	p.PackNT(b, n, k)
	c := make([]float32, m*n)
	p.Mul(c, a, m)
	var wrong, all float64
	for i, w := range plain(view{a, k, 1}, view{b, 1, k}, m, n, k) {
		wrong += float64((c[i] - w) * (c[i] - w))
		all += float64(w * w)
	}
	if e := math.Sqrt(wrong / all); e > 0.015 || e == 0 {
		t.Fatalf("relative error %.4f of normal numbers, want about 0.010", e)
	}
}

func TestPacked8Extremes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	const m, n, k = 9, 50, 1537
	fill := func(n int, f func(i int) float32) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = f(i)
		}
		return x
	}
	signs := func(i int) float32 { return float32(1 - 2*r.IntN(2)) }
	for name, in := range map[string]struct{ a, b func(i int) float32 }{
		"largest codes, one sign":  {func(int) float32 { return 255 }, func(int) float32 { return 64 }},
		"largest codes, minus":     {func(int) float32 { return 255 }, func(int) float32 { return -64 }},
		"a largest code alone":     {func(int) float32 { return 255 }, func(i int) float32 { return map[bool]float32{true: 127, false: -1}[i%k%2 == 0] }},
		"negative rows":            {func(int) float32 { return -1 }, func(i int) float32 { return map[bool]float32{true: 1}[i%k%2 == 0] }},
		"both signs":               {signs, signs},
		"zeros":                    {func(int) float32 { return 0 }, signs},
		"no weights":               {signs, func(int) float32 { return 0 }},
		"negative zeros":           {func(int) float32 { return float32(math.Copysign(0, -1)) }, signs},
		"large numbers":            {func(i int) float32 { return signs(i) * 1e33 }, func(i int) float32 { return signs(i) * 1e-3 }},
		"as small as they can be":  {func(i int) float32 { return signs(i) * 1e-44 }, func(i int) float32 { return signs(i) * 1e-44 }},
		"one large among small":    {func(i int) float32 { return map[bool]float32{true: 1e6, false: 1e-3}[i%k == 7] }, signs},
		"a NaN in a row":           {func(i int) float32 { return map[bool]float32{true: nan, false: 1}[i == 3*k+1533] }, signs},
		"a NaN first":              {func(i int) float32 { return map[bool]float32{true: nan, false: 1}[i == 3*k] }, signs},
		"an infinity":              {func(i int) float32 { return map[bool]float32{true: inf, false: 1}[i == 3*k+9] }, signs},
		"a negative infinity, end": {func(i int) float32 { return map[bool]float32{true: -inf, false: 1}[i == 3*k+1536] }, signs},
		"a NaN among weights":      {signs, func(i int) float32 { return map[bool]float32{true: nan, false: 1}[i == 7*k+5] }},
		"an infinite weight":       {signs, func(i int) float32 { return map[bool]float32{true: inf, false: 1}[i == 49*k+5] }},
	} {
		a, b := fill(m*k, in.a), fill(n*k, in.b)
		var want []float32
		for _, kn := range slices.Backward(kernels8) { // the plain twin first
			var p Packed8
			p.pack(kn, view{b, 1, k}, n, k)
			c := make([]float32, m*n)
			p.Mul(c, a, m)
			if want == nil {
				want = c
				for i := range m {
					for j := range n {
						rowBad, colBad := false, false
						for p := range k {
							x, y := a[i*k+p], b[j*k+p]
							rowBad, colBad = rowBad || x-x != 0, colBad || y-y != 0
						}
						if bad := c[i*n+j] != c[i*n+j]; bad != (rowBad || colBad) {
							t.Fatalf("%s: element %d,%d is %v", name, i, j, c[i*n+j])
						}
					}
				}
				switch name {
				case "largest codes, one sign", "largest codes, minus":
					if e := math.Abs(float64(c[0]))/(255*64*k*128/127.0) - 1; math.Abs(e) > 1e-6 {
						t.Fatalf("%s: %v", name, c[0])
					}
				case "negative rows":
					if math.Abs(float64(c[0])+(k+1)/2) > 1e-3 {
						t.Fatalf("%s: %v, want %d", name, c[0], -(k+1)/2)
					}
				case "zeros", "no weights", "negative zeros", "as small as they can be":
					for _, x := range c {
						if x != 0 {
							t.Fatalf("%s: %v", name, x)
						}
					}
				}
			}
			bitEqual(t, name+", "+kn.name, c, want)
		}
	}
}

// TestKernels8AreBitEqual draws codes themselves, many as large as they can be.
func TestKernels8AreBitEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	each8(t, func(t *testing.T, kn *kernel8) {
		mr, nr := kn.mr, kn.nr
		for quads := 1; quads < 80; quads++ {
			lda, ldc := 4*quads+r.IntN(3), nr+r.IntN(3)
			a, b := make([]uint8, mr*lda), make([]int8, 4*nr*quads)
			for i := range a {
				a[i] = []uint8{0, 255, uint8(r.Uint32())}[r.IntN(3)]
			}
			for i := 0; i < len(b); i += 2 {
				x := r.IntN(128)
				y := r.IntN(129 - x)
				if r.IntN(2) == 0 {
					x, y = 64, 64
				}
				b[i], b[i+1] = int8(x), int8(y)
				switch r.IntN(4) {
				case 0:
					b[i], b[i+1] = int8(-y), int8(-x)
				case 1:
					b[i], b[i+1] = int8(-x), 127
				}
			}
			rows, cols := random(r, 2*mr), random(r, 2*nr)
			for i := range mr {
				rows[2*i+1] = float32(r.IntN(256))
			}
			clear(cols[nr:])
			for i, w := range b {
				cols[nr+i/4%nr] += float32(w)
			}
			check := func(h int, run func(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)) {
				c, acc := make([]float32, mr*ldc+nr), quads%2 == 0
				for i := range c {
					c[i] = float32(i)
				}
				run(&c[0], ldc, &a[0], lda, &b[0], quads, &rows[0], &cols[0], acc)
				for i := range mr {
					for j := range nr {
						var s int32
						for p := range 4 * quads {
							s += int32(a[i*lda+p]) * int32(b[p/4*4*nr+4*j+p%4])
						}
						want := dequantize(s, rows[2*i], rows[2*i+1], cols[j], cols[nr+j])
						if acc {
							want += float32(i*ldc + j)
						}
						if i >= h {
							want = float32(i*ldc + j)
						}
						if c[i*ldc+j] != want {
							t.Fatalf("%d quads, %d of %d,%d: %v, want %v", quads, i, j, h, c[i*ldc+j], want)
						}
					}
				}
			}
			check(mr, kn.run)
			if kn.last != nil {
				check(mr/2, kn.last)
			}
		}
	})
}

func TestPacked8RowsStandAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 5))
	each8(t, func(t *testing.T, kn *kernel8) {
		const m, n, k = 21, 100, 70
		a, b := random(r, m*k), random(r, n*k)
		var p Packed8
		p.pack(kn, view{b, 1, k}, n, k)
		whole, one := make([]float32, m*n), make([]float32, n)
		p.Mul(whole, a, m)
		for i := range m {
			p.Mul(one, a[i*k:i*k+k], 1)
			bitEqual(t, fmt.Sprint("row ", i), one, whole[i*n:i*n+n])
		}
	})
}

func TestPacked8Then(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 6))
	each8(t, func(t *testing.T, kn *kernel8) {
		for _, s := range [][3]int{{5, 100, 70}, {2100, 50, 4}, {3, 7, 0}} {
			m, n, k := s[0], s[1], s[2]
			a, b := random(r, m*k), random(r, n*k)
			var p Packed8
			p.pack(kn, view{b, 1, k}, n, k)
			want, got, seen := make([]float32, m*n), make([]float32, m*n), 0
			p.Mul(want, a, m)
			p.MulOf(got, n, a, k, m, func(c []float32, ldc, rows, from, w int) {
				for i := range rows {
					for j := range w {
						c[i*ldc+j] += float32(from + j)
						seen++
					}
				}
			})
			for i := range want {
				want[i] += float32(i % n)
			}
			bitEqual(t, fmt.Sprint(s), got, want)
			if seen != m*n {
				t.Fatalf("%v: %d elements were handed over, want %d", s, seen, m*n)
			}
		}
	})
}

func TestQuantizeRow(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 7))
	for n := range 200 {
		x := random(r, n+1)[1:]
		for i := range x {
			x[i] *= float32(math.Exp(20 * r.NormFloat64() * float64(r.IntN(2))))
		}
		lo, hi, finite := bounds(x)
		l, h, f := boundsGo(x)
		if lo != l || hi != h || finite != f {
			t.Fatalf("%d elements: bounds %v %v %v, want %v %v %v", n, lo, hi, finite, l, h, f)
		}
		code := make([]uint8, n)
		scale, zero := quantizeRow(code, x)
		for i, v := range x {
			if e := math.Abs(float64(scale)*(float64(code[i])-float64(zero)) - float64(v)); e > float64(scale)*1.001 {
				t.Fatalf("%d elements, %d: %v became code %d of scale %v from %v", n, i, v, code[i], scale, zero)
			}
			if v == 0 && float32(code[i]) != zero {
				t.Fatalf("0 became %d, not %v", code[i], zero)
			}
		}
	}
}

func BenchmarkGemm8(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{256, 1152, 384}, {256, 1536, 384}, {256, 384, 1536}, {12, 1536, 384}, {12, 384, 1536}} {
		m, n, k := s[0], s[1], s[2]
		x, y, c := random(r, m*k), random(r, n*k), make([]float32, m*n)
		ops := 2 * float64(m) * float64(n) * float64(k)
		for _, kn := range kernels8 {
			var p Packed8
			p.pack(kn, view{y, 1, k}, n, k)
			b.Run(fmt.Sprintf("%s/%dx%dx%d", kn.name, m, n, k), func(b *testing.B) {
				for b.Loop() {
					p.Mul(c, x, m)
				}
				b.ReportMetric(ops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
		for _, kn := range kernels[:len(kernels)-1] {
			b.Run(fmt.Sprintf("fp32-%s/%dx%dx%d", kn.name, m, n, k), func(b *testing.B) {
				for b.Loop() {
					gemm(kn, c, n, view{x, k, 1}, view{y, 1, k}, m, n, k)
				}
				b.ReportMetric(ops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}

func BenchmarkQuantizeRow(b *testing.B) {
	x, code := random(rand.New(rand.NewPCG(7, 8)), 1536), make([]uint8, 1536)
	for b.Loop() {
		quantizeRow(code, x)
	}
}

// No two neighbours of one sign add up to more than VPMADDUBSW has room for.
func TestPacked8Pairs(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 8))
	largest := 0
	for range 200 {
		k, n := 1+r.IntN(90), 1+r.IntN(9)
		b := random(r, n*k)
		for i := range b {
			b[i] = []float32{b[i], float32(math.Round(float64(2 * b[i]))), 63.5, 64.5}[r.IntN(4)] // halves, ties
		}
		var p Packed8
		p.pack(kernel8Go, view{b, 1, k}, n, k)
		for i := 0; i < len(p.panels); i += 2 {
			x, y := int(p.panels[i]), int(p.panels[i+1])
			largest = max(largest, x, -x)
			if x < 0 == (y < 0) && max(x+y, -x-y) > 128 {
				t.Fatalf("codes %d and %d are neighbours", x, y)
			}
		}
	}
	if largest != 127 {
		t.Fatalf("the largest code is %d, want 127", largest)
	}
}
