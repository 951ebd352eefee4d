package index

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// metric is a registered distance. To add one, write a file that registers it.
type metric struct {
	name string
	// unit: vectors and queries are scaled to length 1 before anything else.
	unit bool
	// four writes the distances from q to four rows into out. A row must give
	// the same bits in each place, so that equal vectors tie.
	four func(out *[4]float32, q, a, b, c, d []float32)
	// rows does the same for len(out) rows that are stored one after the other.
	rows func(out, q, rows []float32)
	// fromDot, if not nil, turns inner products into distances in place;
	// searches in batches then run as a matrix product.
	fromDot func(dots []float32)
	// code describes the distance for kinds that keep codes.
	code form
}

var metrics = map[string]*metric{}

func registerMetric(m *metric) string {
	metrics[m.name] = m
	return m.name
}

// Metrics returns the names that Options.Metric accepts, sorted.
func Metrics() []string { return slices.Sorted(maps.Keys(metrics)) }

// maxNorm bounds the length of vectors if lengths matter: |a·b| ≤ 1e36 and |a-b|² ≤ 4e36 are well
// within float32, and so is every partial sum.
const maxNorm = 1e18

// check refuses a vector whose distances are undefined.
func (m *metric) check(v []float32) error {
	if !vec.Finite(v) {
		return ErrNotFinite
	}
	if m.unit {
		for _, x := range v {
			if x != 0 {
				return nil
			}
		}
		return ErrZeroVector
	}
	if n := vec.Norm(v); n > maxNorm || math.IsInf(float64(n), 0) {
		return ErrTooLarge
	}
	return nil
}

// CheckVector returns the error with which an index with a metric would refuse a vector of the
// right length: ErrNotFinite, ErrZeroVector, ErrTooLarge; or ErrOptions for an unknown metric.
func CheckVector(metric string, v []float32) error {
	m, ok := metrics[Options{Metric: metric}.metricName()]
	if !ok {
		return fmt.Errorf("metric %q: %w", metric, errMetric)
	}
	return m.check(v)
}

// checkQuery also checks the length.
func (m *metric) checkQuery(q []float32, dim int) error {
	if len(q) != dim {
		return fmt.Errorf("query: %w", &DimensionError{Got: len(q), Want: dim})
	}
	if err := m.check(q); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	return nil
}

// checkRows checks all vectors of an Add or of a batch of queries.
func (m *metric) checkRows(n int, vectors []float32, dim int) error {
	if len(vectors) != n*dim {
		return &DimensionError{Got: len(vectors), Want: n * dim}
	}
	for i := range n {
		if err := m.check(vectors[i*dim : i*dim+dim]); err != nil {
			return fmt.Errorf("vector %d: %w", i, err)
		}
	}
	return nil
}

// put copies a checked vector to dst in the form used for comparisons.
func (m *metric) put(dst, v []float32) {
	copy(dst, v)
	if m.unit {
		vec.Normalize(dst)
	}
}
