package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func randomInt8(r *rand.Rand, n int) []int8 {
	v := make([]int8, n)
	for i := range v {
		v[i] = int8(r.IntN(256) - 128)
	}
	return v
}

// randomCodes are in [−127, 127], as QuantizeInt8 makes them.
func randomCodes(r *rand.Rand, n int) []int8 {
	v := randomInt8(r, n)
	for i := range v {
		v[i] = max(v[i], -127)
	}
	return v
}

// plainInt8 is the definition.
func plainInt8(a, b []int8) int32 {
	var s int32
	for i := range a {
		s += int32(a[i]) * int32(b[i])
	}
	return s
}

func TestInt8OfAllLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		for off := range 3 {
			q, rows := randomCodes(r, n+off)[off:], randomCodes(r, 11*n+off)[off:]
			for count := range 12 {
				out := make([]int32, count+1)
				out[count] = 77
				DotInt8Rows(out[:count], q, rows)
				for i := range count {
					if want := plainInt8(q, rows[i*n:(i+1)*n]); out[i] != want {
						t.Fatalf("row %d of %d×%d: %d, want %d", i, count, n, out[i], want)
					}
				}
				if out[count] != 77 {
					t.Fatal("wrote behind out")
				}
				at := make([]*int8, count)
				for i := range at { // backwards
					at[i] = unsafe.SliceData(rows[(count-1-i)*n:])
				}
				DotInt8At(out[:count], q, at)
				for i := range at {
					if want := plainInt8(q, rows[(count-1-i)*n:(count-i)*n]); out[i] != want {
						t.Fatalf("row %d of %d×%d that lie apart: %d, want %d", i, count, n, out[i], want)
					}
				}
				if out[count] != 77 {
					t.Fatal("wrote behind out")
				}
			}
			y := random(r, n+1)
			want := append([]float32(nil), y...)
			x := randomCodes(r, n)
			for i, c := range x {
				want[i] += 0.37 * float32(c)
			}
			AxpyInt8(y[:n], 0.37, x)
			for i := range want {
				if math.Abs(float64(y[i]-want[i])) > 1e-5 || i == n && y[i] != want[i] {
					t.Fatalf("AxpyInt8 of %d, component %d: %g, want %g", n, i, y[i], want[i])
				}
			}
		}
	}
}

// The largest products there are do not overflow.
func TestInt8Extremes(t *testing.T) {
	for _, pair := range [][2]int8{{-127, -127}, {-127, 127}, {127, 127}, {127, -127}} {
		for _, n := range []int{64, 100, MaxInt8Dim} {
			q, row := make([]int8, n), make([]int8, n)
			for i := range q {
				q[i], row[i] = pair[0], pair[1]
			}
			var out [4]int32
			DotInt8x4(&out, q, row, row, row, row)
			want := int32(pair[0]) * int32(pair[1]) * int32(n)
			if out != [4]int32{want, want, want, want} {
				t.Fatalf("%d times %v: %v, want %d", n, pair, out, want)
			}
			out = [4]int32{}
			if DotInt8At(out[:], q, []*int8{&row[0], &row[0], &row[0], &row[0]}); out != [4]int32{want, want, want, want} {
				t.Fatalf("%d times %v, apart: %v, want %d", n, pair, out, want)
			}
		}
	}
}

func TestQuantizeInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for n := range 140 {
		for _, size := range []float32{1e-30, 1, 1e30} {
			x := random(r, n)
			for i := range x {
				x[i] *= size
			}
			codes := make([]int8, n+1)
			codes[n] = 55
			scale := QuantizeInt8(codes[:n], x)
			if codes[n] != 55 {
				t.Fatal("wrote behind dst")
			}
			var top float64
			for i, c := range codes[:n] {
				if c == -128 || math.Abs(float64(c)*float64(scale)-float64(x[i])) > 0.5001*float64(scale) {
					t.Fatalf("%g became %d × %g", x[i], c, scale)
				}
				top = max(top, math.Abs(float64(c)))
			}
			if n > 0 && top != 127 {
				t.Fatalf("largest code %v", top)
			}
		}
	}
	for _, x := range [][]float32{{}, {0, 0}, make([]float32, 40), {1e-45, 0}} {
		codes := make([]int8, len(x))
		for i := range codes {
			codes[i] = 9
		}
		if s := QuantizeInt8(codes, x); s != 0 || maxCode(codes) != 0 {
			t.Fatalf("%v became %v with scale %g", x, codes, s)
		}
	}
}

func TestLostInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for n := range 70 {
		x, codes := random(r, n), make([]int8, n+1)
		scale := QuantizeInt8(codes[:n], x)
		var decoded, lost float64
		for i, v := range x {
			d := float64(scale) * float64(codes[i])
			decoded += d * d
			lost += (float64(v) - d) * (float64(v) - d)
		}
		gotDecoded, gotLost := LostInt8(x, codes, scale)
		if math.Abs(gotDecoded-math.Sqrt(decoded)) > 1e-12*math.Sqrt(decoded) || math.Abs(gotLost-math.Sqrt(lost)) > 1e-12*math.Sqrt(lost) {
			t.Fatalf("%d components: %g and %g, want %g and %g", n, gotDecoded, gotLost, math.Sqrt(decoded), math.Sqrt(lost))
		}
	}
}

func maxCode(c []int8) (top int8) {
	for _, x := range c {
		top = max(top, x)
	}
	return top
}

// FuzzInt8 holds the kernels to the plain twin on any codes from −127 on.
func FuzzInt8(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, shift uint8) {
		n := len(data) / 5
		if n > MaxInt8Dim {
			return
		}
		v := make([]int8, 5*n)
		x := make([]float32, n)
		for i := range v {
			v[i] = max(int8(data[i]), -127)
		}
		for i := range x {
			x[i] = float32(math.Ldexp(float64(v[i])+float64(v[n+i])/256, int(shift%100)-50))
		}
		q, a, b, c, d := v[:n], v[n:2*n], v[2*n:3*n], v[3*n:4*n], v[4*n:]
		var got, want [4]int32
		DotInt8x4(&got, q, a, b, c, d)
		dotInt8x4Go(&want, q, a, b, c, d)
		if got != want {
			t.Fatalf("%d codes: %v, want %v", n, got, want)
		}
		if n > 0 {
			if DotInt8At(got[:], q, []*int8{&a[0], &b[0], &c[0], &d[0]}); got != want {
				t.Fatalf("%d codes, apart: %v, want %v", n, got, want)
			}
		}
		codes := make([]int8, n)
		scale := QuantizeInt8(codes, x)
		if n > 0 && maxAbsGo(x) > 0 {
			f := 127 / maxAbsGo(x)
			for i := range x {
				if codes[i] != roundInt8(float32(x[i]*f)) || scale != maxAbsGo(x)/127 {
					t.Fatalf("%g × %g became %d", x[i], f, codes[i])
				}
			}
		}
	})
}

func BenchmarkInt8(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 384
	for _, rows := range []int{4, 1024, 80000} {
		q, m, out := randomCodes(r, n), randomCodes(r, rows*n), make([]int32, rows)
		b.Run(fmt.Sprintf("DotInt8Rows/%d", rows), func(b *testing.B) {
			b.SetBytes(int64(rows * n))
			for b.Loop() {
				DotInt8Rows(out, q, m)
			}
		})
	}
	x, codes := random(r, n), randomCodes(r, n)
	b.Run("QuantizeInt8", func(b *testing.B) {
		for b.Loop() {
			QuantizeInt8(codes, x)
		}
	})
	b.Run("AxpyInt8", func(b *testing.B) {
		for b.Loop() {
			AxpyInt8(x, 1e-9, codes)
		}
	})
}
