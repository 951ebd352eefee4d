// Package vec has the arithmetic on slices that dominates the time of searches and training: inner products,
// distances, matrix products, quantization. Start with [Dot] and [MatMulNT]. Each function has a plain Go
// form. Assembly for AVX2, AVX-512 and NEON is chosen by the CPU and gives the same results up to rounding.
// The tag purego disables the assembly. Functions are safe for concurrent use unless one call writes data
// that another reads. A slice that is too short causes a panic.
package vec

import "math"

// best is the kernel for matrix products on this machine.
var best = kernels[0]

// Norm returns the Euclidean length of a, summed in float64.
func Norm(a []float32) float32 {
	return float32(math.Sqrt(sumSquares(a)))
}

// Normalize scales a to unit length in place and reports whether it could. It leaves a zero vector, or one
// with a NaN or an infinity, unchanged.
func Normalize(a []float32) bool {
	s := sumSquares(a)
	if s == 0 || math.IsNaN(s) || math.IsInf(s, 0) {
		return false
	}
	f := 1 / math.Sqrt(s) // as a float32 it would overflow for denormal vectors
	for i, x := range a {
		a[i] = float32(float64(x) * f)
	}
	return true
}

// sumSquares keeps eight sums, as each waits for the one before.
func sumSquares(a []float32) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for len(a) >= 8 {
		b := (*[8]float32)(a)
		s0 += float64(b[0]) * float64(b[0])
		s1 += float64(b[1]) * float64(b[1])
		s2 += float64(b[2]) * float64(b[2])
		s3 += float64(b[3]) * float64(b[3])
		s4 += float64(b[4]) * float64(b[4])
		s5 += float64(b[5]) * float64(b[5])
		s6 += float64(b[6]) * float64(b[6])
		s7 += float64(b[7]) * float64(b[7])
		a = a[8:]
	}
	for _, x := range a {
		s0 += float64(x) * float64(x)
	}
	return s0 + s1 + (s2 + s3) + (s4 + s5 + (s6 + s7))
}

// Finite reports whether no component is NaN or infinite.
func Finite(a []float32) bool {
	if s := Dot(a, a); s-s == 0 {
		return true // a sum with NaN or Inf is one; one of large numbers may be
	}
	for _, x := range a {
		if x-x != 0 {
			return false
		}
	}
	return true
}
