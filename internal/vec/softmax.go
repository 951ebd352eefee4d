package vec

import "math"

// ExpSum writes exp((x[i]-shift)·f) into dst[i] and returns the sum, added in float64. dst may be x.
// No exponent may be above 0: for f > 0, shift is the maximum of x or more. A component of -Inf
// becomes 0. The relative error is below 1e-6, plus that of the float32 difference between component
// and maximum. Results below 1e-37 may become 0.
func ExpSum(dst, x []float32, shift, f float32) float64 {
	dst = dst[:len(x)]
	i, s := exp(dst, x, shift, f)
	for ; i < len(x); i++ {
		e := math.Exp(float64((x[i] - shift) * f))
		dst[i] = float32(e)
		s += e
	}
	return s
}

// Max returns the largest component of x, which must not be empty. If a component is NaN, the result
// may be any component.
func Max(x []float32) float32 { return largest(x) }

// Scale multiplies x by f in place.
func Scale(x []float32, f float32) {
	if len(x) > 0 {
		scale(x, f)
	}
}

func largestGo(x []float32) float32 {
	m := x[0]
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m
}

func scaleGo(x []float32, f float32) {
	for i := range x {
		x[i] *= f
	}
}
