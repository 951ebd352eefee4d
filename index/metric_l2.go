package index

import "github.com/lexsem/lexsem/internal/vec"

// L2 is |a − b|², the squared Euclidean distance, computed from the differences. Vectors longer
// than 1e18 are refused.
var L2 = registerMetric(&metric{
	name: "l2",
	four: vec.SquaredL2x4,
	rows: vec.SquaredL2Rows,
	code: form{slope: 2, squares: true},
})
