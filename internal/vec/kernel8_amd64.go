//go:build amd64 && !purego

package vec

import "math"

// kernels8 are the kernels that this machine can run, best first.
var kernels8 = func() []*kernel8 {
	var k []*kernel8
	if hasVNNI {
		k = append(k, &kernel8{name: "avx512-vnni", mr: 8, nr: 48, run: tile8x48vnni, last: tile4x48vnni})
	}
	if hasAVX512 {
		k = append(k, &kernel8{name: "avx512", mr: 8, nr: 48, run: tile8x48bw, last: tile4x48bw})
	}
	if hasAVX2 {
		k = append(k, &kernel8{name: "avx2", mr: 4, nr: 24, run: tile8avx2})
	}
	return append(k, kernel8Go)
}()

//go:noescape
func tile8x48vnni(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)

//go:noescape
func tile4x48vnni(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)

//go:noescape
func tile8x48bw(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)

//go:noescape
func tile4x48bw(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)

//go:noescape
func tile8avx2(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)

//go:noescape
func boundsavx2(x *float32, n int) (lo, hi float32, top uint32)

//go:noescape
func quantizeU8avx2(dst *uint8, x *float32, f float32, zero int32, n int)

func bounds(x []float32) (lo, hi float32, finite bool) {
	n := len(x) &^ 7
	if n == 0 || !hasAVX2 {
		return boundsGo(x)
	}
	lo, hi, top := boundsavx2(&x[0], n)
	l, h, finite := boundsGo(x[n:])
	return min(lo, l), max(hi, h), finite && top < math.Float32bits(float32(math.Inf(1)))
}

// quantizeU8 processes the first components and returns their number.
func quantizeU8(dst []uint8, x []float32, f float32, zero int32) int {
	n := len(x) &^ 31
	if n == 0 || !hasAVX2 {
		return 0
	}
	quantizeU8avx2(&dst[0], &x[0], f, zero, n)
	return n
}
