package encoders

import "math"

// Cosine is the cosine of two vectors, NaN if their lengths differ.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// Distance is the largest difference of two vectors in an element, NaN if their lengths differ.
func Distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	far := 0.0
	for i := range a {
		far = max(far, math.Abs(float64(a[i])-float64(b[i])))
	}
	return far
}
