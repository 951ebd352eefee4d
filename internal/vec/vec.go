// Package vec is the arithmetic on float32 slices that retrieval spends its
// time in. Every function has a plain-Go form; faster ones chosen by CPU
// features must agree with it.
package vec

import "math"

// Dot returns the inner product of a and b, which must have equal length.
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s float32
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

// Norm returns the Euclidean length of a, summed in float64.
func Norm(a []float32) float32 {
	var s float64
	for _, x := range a {
		s += float64(x) * float64(x)
	}
	return float32(math.Sqrt(s))
}

// Normalize scales a to unit length in place and reports whether it could: a
// zero vector, or one with a NaN or an infinity, is left unchanged.
func Normalize(a []float32) bool {
	var s float64
	for _, x := range a {
		s += float64(x) * float64(x)
	}
	if s == 0 || math.IsNaN(s) || math.IsInf(s, 0) {
		return false
	}
	f := float32(1 / math.Sqrt(s))
	for i := range a {
		a[i] *= f
	}
	return true
}

// Finite reports whether no component is NaN or infinite.
func Finite(a []float32) bool {
	for _, x := range a {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// Axpy adds f·x to y in place; equal lengths.
func Axpy(y []float32, f float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += f * x[i]
	}
}

// Softmax writes the softmax of x into dst (which may be x). It subtracts the
// maximum first, so it is finite for any finite x.
func Softmax(dst, x []float32) {
	dst = dst[:len(x)]
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	var s float64
	for i, v := range x {
		e := math.Exp(float64(v - m))
		dst[i] = float32(e)
		s += e
	}
	f := float32(1 / s)
	for i := range dst {
		dst[i] *= f
	}
}

// DotRows writes q·rows[i] into out[i] for the len(out) rows of length len(q)
// stored one after another in rows.
func DotRows(out, q, rows []float32) {
	d := len(q)
	for i := range out {
		out[i] = Dot(q, rows[i*d:i*d+d])
	}
}

// MatMulNT computes C = A·Bᵀ for row-major A [m×k], B [n×k], C [m×n].
func MatMulNT(c, a, b []float32, m, n, k int) {
	for i := range m {
		DotRows(c[i*n:i*n+n], a[i*k:i*k+k], b[:n*k])
	}
}

// MatMulNN computes C = A·B for row-major A [m×k], B [k×n], C [m×n].
func MatMulNN(c, a, b []float32, m, n, k int) {
	for i := range m {
		row := c[i*n : i*n+n]
		clear(row)
		for j, f := range a[i*k : i*k+k] {
			if f != 0 {
				Axpy(row, f, b[j*n:j*n+n])
			}
		}
	}
}
