//go:build amd64 && !purego

package vec

import (
	"github.com/viterin/vek/vek32"
	"golang.org/x/sys/cpu"
)

// Capabilities of this machine. AVX-512 requires DQ, BW and VL in addition to F: every
// server and desktop processor that gains from it has them, and early ones that slow down
// are excluded.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
)

// kernels are the kernels that this machine can run, best first.
var kernels = func() []*kernel {
	var k []*kernel
	if hasAVX512 {
		k = append(k, &kernel{name: "avx512", mr: 8, nr: 48, run: tile8x48avx512, last: tile4x48avx512, transpose: transpose8avx2})
	}
	if hasAVX2 {
		k = append(k, &kernel{name: "avx2", mr: 4, nr: 24, run: tile4x24avx2, transpose: transpose8avx2})
	}
	return append(k, kernelGo)
}()

//go:noescape
func tile8x48avx512(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)

//go:noescape
func tile4x48avx512(c *float32, a *float32, rs, cs int, b *float32, k int)

//go:noescape
func tile4x24avx2(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)

//go:noescape
func transpose8avx2(dst *float32, ldd int, src *float32, lds, k int)

//go:noescape
func dot4avx512(out *[4]float32, q, a, b, c, d *float32, n int)

//go:noescape
func dot4avx2(out *[4]float32, q, a, b, c, d *float32, n int)

//go:noescape
func l2x4avx512(out *[4]float32, q, a, b, c, d *float32, n int)

//go:noescape
func l2x4avx2(out *[4]float32, q, a, b, c, d *float32, n int)

//go:noescape
func dotAxpy4avx2(out *[4]float32, y *float32, f *[4]float32, x, a, b, c, d *float32, n int)

//go:noescape
func axpyavx2(y *float32, f float32, x *float32, n int)

//go:noescape
func expavx2(dst, x *float32, shift, f float32, n int) float64

func dot(a, b []float32) float32 {
	if !hasAVX2 || len(a) < 16 {
		return dotGo(a, b)
	}
	return vek32.Dot(a, b)
}

// dot4 skips the last len(q)%16 components; it returns the number of processed ones.
func dot4(out *[4]float32, q, a, b, c, d []float32) int {
	n := len(q) &^ 15
	switch {
	case n == 0 || !hasAVX2:
		return 0
	case hasAVX512:
		dot4avx512(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	default:
		dot4avx2(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	return n
}

func l2x4(out *[4]float32, q, a, b, c, d []float32) int {
	n := len(q) &^ 15
	switch {
	case n == 0 || !hasAVX2:
		return 0
	case hasAVX512:
		l2x4avx512(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	default:
		l2x4avx2(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	return n
}

func dotAxpy4(out *[4]float32, y []float32, f *[4]float32, x, a, b, c, d []float32) int {
	n := len(y) &^ 7
	if n == 0 || !hasAVX2 {
		return 0
	}
	dotAxpy4avx2(out, &y[0], f, &x[0], &a[0], &b[0], &c[0], &d[0], n)
	return n
}

func axpy(y []float32, f float32, x []float32) int {
	n := len(y) &^ 15
	if n == 0 || !hasAVX2 {
		return 0
	}
	axpyavx2(&y[0], f, &x[0], n)
	return n
}

// largest is the maximum of x, which is not empty. If x contains NaN, the result is
// undefined.
func largest(x []float32) float32 {
	if !hasAVX2 {
		return largestGo(x)
	}
	return vek32.Max(x)
}

func scale(x []float32, f float32) {
	if !hasAVX2 {
		scaleGo(x, f)
		return
	}
	vek32.MulNumber_Inplace(x, f)
}

// exp processes the first n components of ExpSum; it returns n and their sum.
func exp(dst, x []float32, shift, f float32) (int, float64) {
	n := len(x) &^ 7
	if n == 0 || !hasAVX2 {
		return 0, 0
	}
	return n, expavx2(&dst[0], &x[0], shift, f, n)
}
