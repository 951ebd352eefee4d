package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// unpacked are the codes of a row of n, by their definition.
func unpacked(row []int8, n int) []int8 {
	codes := make([]int8, n)
	for i := range codes {
		b := uint8(row[i%len(row)])
		if i >= len(row) {
			b >>= 4
		}
		codes[i] = int8(b&15) - 8
	}
	return codes
}

func TestInt4OfAllLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		for off := range 3 {
			q, rows := randomInt8(r, 2*n+off)[off:], randomInt8(r, 11*n+off)[off:]
			for count := range 12 {
				out := make([]int32, count+1)
				out[count] = 77
				DotInt4Rows(out[:count], q, rows)
				for i := range count {
					if want := plainInt8(q, unpacked(rows[i*n:(i+1)*n], 2*n)); out[i] != want {
						t.Fatalf("row %d of %d×%d: %d, want %d", i, count, n, out[i], want)
					}
				}
				if out[count] != 77 {
					t.Fatal("wrote behind out")
				}
			}
			for count := range 12 {
				out, at := make([]int32, count+1), make([]*int8, count)
				out[count] = 77
				for i := range at { // backwards
					at[i] = unsafe.SliceData(rows[(count-1-i)*n:])
				}
				DotInt4At(out[:count], q, at)
				for i := range at {
					if want := plainInt8(q, unpacked(rows[(count-1-i)*n:(count-i)*n], 2*n)); out[i] != want {
						t.Fatalf("row %d of %d×%d that lie apart: %d, want %d", i, count, n, out[i], want)
					}
				}
				if out[count] != 77 {
					t.Fatal("wrote behind out")
				}
			}
			codes := make([]int8, 2*n+1)
			codes[2*n] = 55
			UnpackInt4(codes[:2*n], rows[:n])
			for i, want := range unpacked(rows[:n], 2*n) {
				if codes[i] != want {
					t.Fatalf("code %d of %d is %d, want %d", i, 2*n, codes[i], want)
				}
			}
			if codes[2*n] != 55 {
				t.Fatal("wrote behind dst")
			}
		}
	}
}

// The largest products there are do not overflow.
func TestInt4Extremes(t *testing.T) {
	for _, q := range []int8{-128, 127} {
		for _, b := range []int8{0, -1, 15, -16} {
			for _, n := range []int{64, 100, MaxInt8Dim / 2} {
				query, row := make([]int8, 2*n), make([]int8, n)
				for i := range row {
					query[i], query[n+i], row[i] = q, q, b
				}
				var out [4]int32
				DotInt4x4(&out, query, row, row, row, row)
				want := int32(q) * int32(n) * int32(int(uint8(b)&15)+int(uint8(b)>>4)-16)
				if out != [4]int32{want, want, want, want} {
					t.Fatalf("%d times %d and %#x: %v, want %d", n, q, uint8(b), out, want)
				}
				out = [4]int32{}
				if DotInt4At(out[:], query, []*int8{&row[0], &row[0], &row[0], &row[0]}); out != [4]int32{want, want, want, want} {
					t.Fatalf("%d times %d and %#x, apart: %v, want %d", n, q, uint8(b), out, want)
				}
			}
		}
	}
}

func TestQuantizeInt4(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for n := 1; n < 140; n++ {
		for _, size := range []float32{1e-30, 1, 1e30} {
			x := random(r, n)
			if n%3 == 0 { // one component far larger than the others
				x[n/2] = 30
			}
			for i := range x {
				x[i] *= size
			}
			bytes := Int4Bytes(n)
			row := make([]int8, bytes+1)
			row[bytes] = 55
			scale, lost := QuantizeInt4(row[:bytes], x)
			if row[bytes] != 55 {
				t.Fatal("wrote behind dst")
			}
			codes := unpacked(row[:bytes], 2*bytes)
			if codes[2*bytes-1] != 0 && n%2 == 1 {
				t.Fatalf("code %d of %d is %d", 2*bytes, n, codes[2*bytes-1])
			}
			left := func(scale float64, codes []int8) float64 {
				var rest, all float64
				for i, v := range x {
					e := float64(v) - scale*float64(codes[i])
					rest, all = rest+e*e, all+float64(v)*float64(v)
				}
				return math.Sqrt(rest / all)
			}
			got := left(float64(scale), codes)
			if over := float64(lost)*LostInt4 - got; over < 0 || over > LostInt4 {
				t.Fatalf("%d components: %g is lost, not %d units", n, got, lost)
			}
			for _, f := range []float64{.99, 1.01} {
				if left(float64(scale)*f, codes) < got {
					t.Fatalf("%d components: %g times the scale loses less", n, f)
				}
			}
			plain := make([]int8, n)
			if s := QuantizeTo(plain, x, 7); got > left(float64(s), plain) {
				t.Fatalf("%d components: %g is lost, %g without a cut", n, got, left(float64(s), plain))
			}
			for i, c := range codes[:n] {
				if c < -7 || c > 7 || c != 0 && (c > 0) != (x[i] > 0) {
					t.Fatalf("%g became %d × %g", x[i], c, scale)
				}
			}
		}
	}
	// Of each cut the same is lost or more, whichever suits: what is even needs none, what has few large components the most.
	for power := range 5 {
		x := make([]float32, 300)
		var top, all float64
		for i := range x {
			x[i] = float32(math.Pow(r.NormFloat64(), float64(2*power+1)))
			switch {
			case power == 0:
				x[i] = float32(r.IntN(15) - 7)
			case power == 4 && i > 1:
				x[i] = float32(r.NormFloat64())
			case power == 4:
				x[i] = 6
			}
			top, all = max(top, math.Abs(float64(x[i]))), all+float64(x[i])*float64(x[i])
		}
		_, lost := QuantizeInt4(make([]int8, 150), x)
		for _, cut := range []float64{1, .9, .8, .7, .6, .5} {
			var along, length float64
			for _, v := range x {
				c := max(-7, min(7, math.RoundToEven(float64(v)/(top*cut/7))))
				along, length = along+c*float64(v), length+c*c
			}
			if least := math.Sqrt(max(0, 1-along*along/length/all)); float64(lost) > math.Ceil(least/LostInt4)+.01 {
				t.Errorf("case %d: %d units are lost, %.2f by a cut to %g", power, lost, least/LostInt4, cut)
			}
		}
	}
	for _, x := range [][]float32{{}, {0, 0}, make([]float32, 41), {1e-45, 0}} {
		row, zero := make([]int8, Int4Bytes(len(x))), make([]int8, 2*Int4Bytes(len(x)))
		for i := range row {
			row[i] = 9
		}
		scale, lost := QuantizeInt4(row, x)
		if got := unpacked(row, len(zero)); scale != 0 || fmt.Sprint(got) != fmt.Sprint(zero) || (lost == 127) != (len(x) > 0 && x[0] > 0) {
			t.Fatalf("%v became %v with scale %g, %d lost", x, got, scale, lost)
		}
	}
}

// FuzzInt4 holds the kernels to the plain twin on any codes.
func FuzzInt4(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz" +
		"0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := min(len(data)/6, MaxInt8Dim/2)
		v := make([]int8, 6*n)
		for i := range v {
			v[i] = int8(data[i])
		}
		q, a, b, c, d := v[:2*n], v[2*n:3*n], v[3*n:4*n], v[4*n:5*n], v[5*n:]
		var got, want [4]int32
		DotInt4x4(&got, q, a, b, c, d)
		dotInt4x4Go(&want, q[:n], q[n:], a, b, c, d)
		if got != want {
			t.Fatalf("%d bytes: %v, want %v", n, got, want)
		}
		if n > 0 {
			if DotInt4At(got[:], q, []*int8{&a[0], &b[0], &c[0], &d[0]}); got != want {
				t.Fatalf("%d bytes, apart: %v, want %v", n, got, want)
			}
		}
	})
}

func BenchmarkInt4(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 384
	for _, rows := range []int{4, 1024, 80000} {
		q, m, out := randomInt8(r, n), randomInt8(r, rows*n/2), make([]int32, rows)
		b.Run(fmt.Sprintf("DotInt4Rows/%d", rows), func(b *testing.B) {
			b.SetBytes(int64(rows * n))
			for b.Loop() {
				DotInt4Rows(out, q, m)
			}
		})
	}
	x, row, codes := random(r, n), make([]int8, n/2), make([]int8, n)
	b.Run("QuantizeInt4", func(b *testing.B) {
		for b.Loop() {
			QuantizeInt4(row, x)
		}
	})
	b.Run("UnpackInt4", func(b *testing.B) {
		for b.Loop() {
			UnpackInt4(codes, row)
		}
	})
}

// int4Kernel is the assembly behind DotInt4x4, for n bytes of codes in each row.
type int4Kernel func(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

// equalsInt4Go holds a kernel to its twin in Go.
func equalsInt4Go(t *testing.T, r *rand.Rand, name string, f int4Kernel) {
	t.Helper()
	for n := 32; n <= 416; n += 32 {
		lo, hi, a, b, c, d := randomInt8(r, n), randomInt8(r, n), randomInt8(r, n), randomInt8(r, n), randomInt8(r, n), randomInt8(r, n)
		var got, want [4]int32
		f(&got, &lo[0], &hi[0], &a[0], &b[0], &c[0], &d[0], n)
		dotInt4x4Go(&want, lo, hi, a, b, c, d)
		if got != want {
			t.Fatalf("%s, %d bytes: %v, want %v", name, n, got, want)
		}
	}
}
