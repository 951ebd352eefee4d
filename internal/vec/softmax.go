package vec

import "math"

// Softmax writes the softmax of x into dst (which may be x). It subtracts the
// maximum first, so it is finite for any finite x. An empty x is left alone.
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
