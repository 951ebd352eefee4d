package vec

import (
	"math"
	"unsafe"
)

// Codes of one byte. A vector x is stored as code[i] = round(x[i]/scale) with scale = max|x|/127.
// Products of codes are exact integers, so every kernel gives the same bits for codes in [−127, 127],
// which all codes are.

// MaxInt8Dim is the maximum length of a vector of codes, so that its products fit an int32.
const MaxInt8Dim = 1 << 16

// QuantizeInt8 writes the codes of x, which must be finite, to dst of equal length and returns their
// scale. x[i] ≈ scale·dst[i], within scale/2. Codes are in [−127, 127]. If x is zero, or so small that
// its scale underflows, codes and scale are 0.
func QuantizeInt8(dst []int8, x []float32) (scale float32) { return QuantizeTo(dst, x, 127) }

// QuantizeTo is QuantizeInt8 with codes in [−most, most]; most is 1 to 127.
func QuantizeTo(dst []int8, x []float32, most int8) (scale float32) {
	dst = dst[:len(x)]
	top := maxAbs(x)
	scale = top / float32(most)
	f := float32(most) / top
	if scale == 0 || math.IsInf(float64(f), 0) {
		clear(dst)
		return 0
	}
	for i := quantize(dst, x, f); i < len(x); i++ {
		dst[i] = roundInt8(float32(x[i] * f)) // rounded by itself: arm64 would fuse it with the sum
	}
	return scale
}

// DotSlack returns the slack for the rounding of float32 sums in bounds on inner products of dim
// components, relative to ‖q‖‖p‖. The kernels keep 16 or more sums in parallel. The slack is added to
// the error of the codes. With x = x̂ + e and x̂ the decoded codes, for both vectors,
//
//	|q·p − q̂·p̂| = |q̂·e_p + e_q·p| ≤ ‖q̂‖‖e_p‖ + ‖e_q‖‖p‖
func DotSlack(dim int) float64 { return float64(dim/16+16) * 0x1p-23 }

// LostInt8 returns the length of the decoded codes of x, scale·codes[i], and the length of the
// difference x[i] − scale·codes[i].
func LostInt8(x []float32, codes []int8, scale float32) (decoded, lost float64) {
	codes = codes[:len(x)]
	var squares int64
	var l0, l1, l2, l3 float64 // side by side, as each sum waits for the one before
	f := float64(scale)
	for len(x) >= 4 {
		c0, c1, c2, c3 := int64(codes[0]), int64(codes[1]), int64(codes[2]), int64(codes[3])
		e0, e1, e2, e3 := float64(x[0])-f*float64(c0), float64(x[1])-f*float64(c1), float64(x[2])-f*float64(c2), float64(x[3])-f*float64(c3)
		squares += c0*c0 + c1*c1 + c2*c2 + c3*c3
		l0 += e0 * e0
		l1 += e1 * e1
		l2 += e2 * e2
		l3 += e3 * e3
		x, codes = x[4:], codes[4:]
	}
	for i, v := range x {
		c := int64(codes[i])
		e := float64(v) - f*float64(c)
		squares += c * c
		l0 += e * e
	}
	return f * math.Sqrt(float64(squares)), math.Sqrt(l0 + l1 + l2 + l3)
}

// roundInt8 rounds to the nearest integer, halves to even, as the CPU does.
func roundInt8(v float32) int8 {
	const magic = 3 << 22 // from here on a float32 has no fraction
	return int8(int32(v + magic - magic))
}

// DotInt8x4 writes the inner products of q with the rows a, b, c and d into out. All have q's length,
// at most MaxInt8Dim. No code is −128.
func DotInt8x4(out *[4]int32, q, a, b, c, d []int8) {
	n := len(q)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	*out = [4]int32{}
	i := dotInt8x4(out, q, a, b, c, d)
	if i < n {
		dotInt8x4Go(out, q[i:], a[i:], b[i:], c[i:], d[i:])
	}
}

// DotInt8Rows writes q·rows[i] into out[i], for len(out) rows of length len(q) stored one after
// another. No code is −128.
func DotInt8Rows(out []int32, q, rows []int8) {
	d, n := len(q), len(out)
	rows = rows[:n*d]
	for i := dotInt8Rows(out, q, rows); i < n; i += 4 {
		if n < 4 { // the last row stands in for those that are missing
			row := func(j int) []int8 { j = min(j, n-1); return rows[j*d : j*d+d] }
			var s [4]int32
			DotInt8x4(&s, q, row(0), row(1), row(2), row(3))
			copy(out, s[:])
			return
		}
		i = min(i, n-4) // the last four may overlap those before
		r := rows[i*d : i*d+4*d]
		DotInt8x4((*[4]int32)(out[i:]), q, r[:d], r[d:2*d], r[2*d:3*d], r[3*d:])
	}
}

// DotInt8At writes q·rows[i] into out[i]. The rows are separate slices of q's length. No code is −128.
func DotInt8At(out []int32, q []int8, rows []*int8) {
	out = out[:len(rows)]
	if dotInt8At(out, q, rows) {
		return
	}
	for i := 0; i < len(rows); i += 4 {
		var s [4]int32
		DotInt8x4(&s, q, rowAt(rows, i, len(q)), rowAt(rows, i+1, len(q)), rowAt(rows, i+2, len(q)), rowAt(rows, i+3, len(q)))
		copy(out[i:], s[:])
	}
}

// rowAt is row i of n codes; beyond the end it is the last row.
func rowAt(rows []*int8, i, n int) []int8 { return unsafe.Slice(rows[min(i, len(rows)-1)], n) }

// AxpyInt8 adds f·x to y in place. x and y have equal length.
func AxpyInt8(y []float32, f float32, x []int8) {
	x = x[:len(y)]
	for i := axpyInt8(y, f, x); i < len(y); i++ {
		y[i] += f * float32(x[i])
	}
}

// dotInt8x4Go adds to out; it is the plain Go form of the kernels.
func dotInt8x4Go(out *[4]int32, q, a, b, c, d []int8) {
	n := len(q)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	s0, s1, s2, s3 := out[0], out[1], out[2], out[3]
	for i, v := range q {
		x := int32(v)
		s0 += x * int32(a[i])
		s1 += x * int32(b[i])
		s2 += x * int32(c[i])
		s3 += x * int32(d[i])
	}
	out[0], out[1], out[2], out[3] = s0, s1, s2, s3
}

// maxAbsGo is the largest |x|, 0 for an empty x.
func maxAbsGo(x []float32) float32 {
	var top float32
	for _, v := range x {
		top = max(top, v, -v)
	}
	return top
}
