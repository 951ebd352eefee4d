package vec

import "math"

// Codes of four bits. A row of n codes takes Int4Bytes(n) bytes: byte i has code i in its lower half
// and code Int4Bytes(n)+i in its upper half, each plus 8; codes beyond n are 0. Codes are in [−7, 7].

// Int4Bytes returns the number of bytes of n codes.
func Int4Bytes(n int) int { return (n + 1) / 2 }

const (
	mostInt4 = 7
	zeroInt4 = -120 // a byte of two zeros: 0x88
	// LostInt4 is the unit of the loss that QuantizeInt4 returns.
	LostInt4 = 1.0 / 127
)

// QuantizeInt4 writes the codes of x, which must be finite, to dst, of length Int4Bytes(len(x)). x[i]
// ≈ scale·code[i], and the length of the difference is at most lost·LostInt4 times the length of x.
// lost is in [0, 127].
//
// The largest components may be clipped to as little as half, which gives the others finer codes.
// Among a few such clippings it takes the one whose codes have the smallest angle to x, and the scale
// with the smallest loss. The scale is 0 if x is zero or so small that the scale underflows. The
// result is the same on every machine.
func QuantizeInt4(dst []int8, x []float32) (scale float32, lost int8) {
	dst = dst[:Int4Bytes(len(x))]
	top := maxAbs(x)
	best, step := 0.0, float32(0)
	for _, cut := range [...]float32{1, .9, .8, .7, .6, .5} {
		s := top * cut / mostInt4
		f := 1 / s
		if s == 0 || math.IsInf(float64(f), 0) {
			break
		}
		along, length := int4Along(x, f)
		if q := along * along / length; q > best {
			best, step = q, s
		}
	}
	for i := range dst {
		dst[i] = zeroInt4
	}
	if step == 0 {
		if top > 0 {
			lost = 127
		}
		return 0, lost
	}
	f := 1 / step
	for i := range dst {
		lo, hi := codeInt4(x[i]*f), float32(0)
		if at := len(dst) + i; at < len(x) {
			hi = codeInt4(x[at] * f)
		}
		dst[i] = int8(uint8(int(lo)+8) | uint8(int(hi)+8)<<4)
	}
	along, length := int4Along(x, f)
	squares := 0.0
	for _, v := range x {
		squares += float64(float64(v) * float64(v))
	}
	scale = float32(along / length)
	rest := 0.0
	for _, v := range x {
		e := float64(v) - float64(float64(scale)*float64(codeInt4(v*f)))
		rest += float64(e * e)
	}
	return scale, int8(min(127, math.Ceil(math.Sqrt(rest/squares)/LostInt4*(1+1e-9))))
}

// codeInt4 is the code of a component over the step.
func codeInt4(v float32) float32 {
	const magic = 3 << 22 // from here on a float32 has no fraction
	return min(mostInt4, max(-mostInt4, v)) + magic - magic
}

// int4Along returns ⟨x, c⟩ and ⟨c, c⟩ for the codes c of f·x.
func int4Along(x []float32, f float32) (along, length float64) {
	for _, v := range x {
		c := float64(codeInt4(v * f))
		along += float64(c * float64(v)) // rounded by itself: arm64 would fuse it with the sum
		length += c * c
	}
	return along, length
}

// UnpackInt4 writes the codes of src to dst, of length 2·len(src).
func UnpackInt4(dst, src []int8) {
	lo, hi := dst[:len(src)], dst[len(src):][:len(src)]
	for i := unpackInt4(lo, hi, src); i < len(src); i++ {
		lo[i] = int8(uint8(src[i])&15) - 8
		hi[i] = int8(uint8(src[i])>>4) - 8
	}
}

// DotInt4x4 writes the inner products of q, one-byte codes, with the rows a, b, c and d, four-bit
// codes, into out. A row has half the length of q, which is at most MaxInt8Dim long.
func DotInt4x4(out *[4]int32, q, a, b, c, d []int8) {
	n := len(q) / 2
	lo, hi := q[:n], q[n:2*n]
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	*out = [4]int32{}
	i := dotInt4x4(out, lo, hi, a, b, c, d)
	if i < n {
		dotInt4x4Go(out, lo[i:], hi[i:], a[i:], b[i:], c[i:], d[i:])
	}
}

// DotInt4At writes q·rows[i] into out[i]. The rows are separate slices, each half as long as q.
func DotInt4At(out []int32, q []int8, rows []*int8) {
	n := len(q) / 2
	out = out[:len(rows)]
	if dotInt4At(out, q[:n], q[n:2*n], rows) {
		return
	}
	for i := 0; i < len(rows); i += 4 {
		var s [4]int32
		DotInt4x4(&s, q, rowAt(rows, i, n), rowAt(rows, i+1, n), rowAt(rows, i+2, n), rowAt(rows, i+3, n))
		copy(out[i:], s[:])
	}
}

// DotInt4Rows writes q·rows[i] into out[i], for len(out) rows of half the length of q stored one after
// another.
func DotInt4Rows(out []int32, q, rows []int8) {
	d, n := len(q)/2, len(out)
	rows = rows[:n*d]
	row := func(j int) []int8 { j = min(j, n-1); return rows[j*d : j*d+d] }
	for i := 0; i < n; i += 4 { // the last row stands in for those that are missing
		var s [4]int32
		DotInt4x4(&s, q, row(i), row(i+1), row(i+2), row(i+3))
		copy(out[i:], s[:])
	}
}

// dotInt4x4Go adds to out; it is the plain Go form of the kernels.
func dotInt4x4Go(out *[4]int32, lo, hi, a, b, c, d []int8) {
	n := len(lo)
	hi, a, b, c, d = hi[:n], a[:n], b[:n], c[:n], d[:n]
	s0, s1, s2, s3 := out[0], out[1], out[2], out[3]
	for i, v := range lo {
		x, y := int32(v), int32(hi[i])
		s0 += x*(int32(uint8(a[i])&15)-8) + y*(int32(uint8(a[i])>>4)-8)
		s1 += x*(int32(uint8(b[i])&15)-8) + y*(int32(uint8(b[i])>>4)-8)
		s2 += x*(int32(uint8(c[i])&15)-8) + y*(int32(uint8(c[i])>>4)-8)
		s3 += x*(int32(uint8(d[i])&15)-8) + y*(int32(uint8(d[i])>>4)-8)
	}
	out[0], out[1], out[2], out[3] = s0, s1, s2, s3
}
