// Package vec is the arithmetic on float32 slices that retrieval and training
// spend their time in: inner products, distances, matrix products, softmax.
//
// Every function has a plain-Go form; assembly for AVX2, AVX-512 and NEON, chosen
// by the features of the CPU, must agree with it up to rounding. The build tag
// purego leaves the assembly out. All functions may be called from several
// goroutines at once as long as nobody writes what another one reads. Slices
// that are too short are a mistake in the program and panic like an index out
// of range.
package vec

import "math"

// best is the kernel that matrix products use on this machine.
var best = kernels[0]

// Norm returns the Euclidean length of a, summed in float64.
func Norm(a []float32) float32 {
	return float32(math.Sqrt(sumSquares(a)))
}

// Normalize scales a to unit length in place and reports whether it could: a
// zero vector, or one with a NaN or an infinity, is left unchanged.
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

func sumSquares(a []float32) float64 {
	var s0, s1 float64
	for len(a) >= 2 {
		x, y := float64(a[0]), float64(a[1])
		s0 += x * x
		s1 += y * y
		a = a[2:]
	}
	for _, x := range a {
		s0 += float64(x) * float64(x)
	}
	return s0 + s1
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
