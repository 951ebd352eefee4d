//go:build arm64 && !purego

package vec

import "slices"

// kernels are the kernels that this machine can run, best first.
var kernels = []*kernel{
	{name: "neon", mr: 8, nr: 8, run: tile8x8neon, last: tile4x8neon, transpose: transposeGo},
	kernelGo,
}

//go:noescape
func tile8x8neon(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)

//go:noescape
func tile4x8neon(c *float32, a *float32, rs, cs int, b *float32, k int)

//go:noescape
func axpyneon(y *float32, f float32, x *float32, n int)

//go:noescape
func expneon(dst, x *float32, shift, f float32, n int) float64

//go:noescape
func addGELUneon(c, bias, consts *float32, n int)

// geluConsts are the constants of addGELUneon.
var geluConsts = func() []float32 {
	c := slices.Clone(geluPoly[:])
	slices.Reverse(c)
	return append(c, geluLimit, 1.0/16, 1, 0.5)
}()

func axpy(y []float32, f float32, x []float32) int {
	n := len(y) &^ 7
	if n > 0 {
		axpyneon(&y[0], f, &x[0], n)
	}
	return n
}

// exp processes the first n components of ExpSum; it returns n and their sum.
func exp(dst, x []float32, shift, f float32) (n int, sum float64) {
	if n = len(x) &^ 3; n > 0 {
		sum = expneon(&dst[0], &x[0], shift, f, n)
	}
	return n, sum
}

// addGELU processes the first columns and returns their number.
func addGELU(c []float32, ldc, rows int, bias []float32) int {
	n := len(bias) &^ 7
	if n == 0 {
		return 0
	}
	for i := range rows {
		addGELUneon(&c[i*ldc], &bias[0], &geluConsts[0], n)
	}
	return n
}
