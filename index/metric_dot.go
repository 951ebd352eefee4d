package index

import "github.com/lexsem/lexsem/internal/vec"

// Dot is −a·b: a larger inner product is nearer. Vectors longer than 1e18 are refused.
var Dot = registerMetric(&metric{
	name: "dot",
	four: func(out *[4]float32, q, a, b, c, d []float32) {
		vec.Dot4(out, q, a, b, c, d)
		negate(out[:])
	},
	rows: func(out, q, rows []float32) {
		vec.DotRows(out, q, rows)
		negate(out)
	},
	fromDot: negate,
	code:    form{slope: 1},
})

func negate(dots []float32) {
	for i, s := range dots {
		dots[i] = -s
	}
}
