package index

import "github.com/lexsem/lexsem/internal/vec"

// Cosine is 1 − cos(a, b), from 0 to 2. Vectors are stored at length 1. The zero vector is
// refused.
var Cosine = registerMetric(&metric{
	name: "cosine",
	unit: true,
	four: func(out *[4]float32, q, a, b, c, d []float32) {
		vec.Dot4(out, q, a, b, c, d)
		fromCosine(out[:])
	},
	rows: func(out, q, rows []float32) {
		vec.DotRows(out, q, rows)
		fromCosine(out)
	},
	fromDot: fromCosine,
	code:    form{one: 1, slope: 1},
})

func fromCosine(dots []float32) {
	for i, s := range dots {
		d := 1 - s
		if d < 0 { // rounding
			d = 0
		}
		dots[i] = d
	}
}
