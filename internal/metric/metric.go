// Package metric defines what the metric of a database means outside its index: which vectors are valid and
// how they are stored, which score a distance stands for, and whether queries can be modulated. Start with
// [Of].
package metric

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/vec"
)

// Metric is the metric of a database: index.Cosine (also ""), index.Dot or index.L2.
type Metric string

// Of reads the name of a metric. A name that is not in index.Metrics is fault.ErrInvalid.
func Of(name string) (Metric, error) {
	m := Metric(name)
	if !slices.Contains(index.Metrics(), m.String()) {
		return m, fmt.Errorf("%w: metric %q; use one of %s", fault.ErrInvalid, fault.Clip(name), strings.Join(index.Metrics(), ", "))
	}
	return m, nil
}

func (m Metric) String() string {
	if m == "" {
		return index.Cosine
	}
	return string(m)
}

// Directions reports whether only the directions of vectors count: they are stored at length 1. Queries can
// be modulated, which turns their direction, and be compared with passages token by token. Under the other
// metrics vectors are stored and used as given. Only directions support RLR's sums, local and fitted
// bridges, token states, and calibrated and convex fusion.
func (m Metric) Directions() bool { return m.String() == index.Cosine }

// Needs returns the error of a call that only works with directions, or nil if m supports it.
func (m Metric) Needs(what string) error {
	if m.Directions() {
		return nil
	}
	return fmt.Errorf("%w: %s in a database of metric %s: it works on directions, and here lengths count; make a database of metric %s for it",
		fault.ErrInvalid, what, m, index.Cosine)
}

// Check returns why a vector of the right length is invalid for documents and queries, or nil: it is not
// finite; its length is 0 if Directions; or its length is above 1e18 otherwise.
func (m Metric) Check(v []float32) error { return index.CheckVector(string(m), v) }

// Vector returns a copy of a given vector in the form that is stored and searched with. A vector that Check
// refuses, or of another length than dim, is fault.ErrInvalid.
func (m Metric) Vector(v []float32, dim int) ([]float32, error) {
	if len(v) != dim {
		return nil, fmt.Errorf("%w: vector of %d dimensions in a database of %d", fault.ErrInvalid, len(v), dim)
	}
	if err := m.Check(v); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	u := slices.Clone(v)
	if m.Directions() {
		vec.Normalize(u)
	}
	return u, nil
}

// Score converts a distance of the index to a score, higher is better: the cosine, the dot product, or the
// negative squared distance.
func (m Metric) Score(distance float32) float64 {
	if m.Directions() {
		return 1 - float64(distance)
	}
	return 0 - float64(distance) // which is not −0
}

// Scores sets out to the scores of q with the vectors in rows [len(out) × len(q)]. If Directions, all have
// length 1.
func (m Metric) Scores(out, q, rows []float32) {
	if m != Metric(index.L2) {
		vec.DotRows(out, q, rows)
		return
	}
	vec.SquaredL2Rows(out, q, rows)
	for i, d := range out {
		out[i] = float32(m.Score(d))
	}
}

// Holds reports whether a vector in the index is the stored one. If Directions, the index has normalised it
// once more, which may change the last bits.
func (m Metric) Holds(indexed, stored []float32) bool {
	if !m.Directions() {
		return slices.Equal(indexed, stored)
	}
	return slices.EqualFunc(indexed, stored, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })
}

// Cosine is the cosine of two vectors of equal dimension, in [-1, 1]; 0 if one of them has no direction.
func Cosine(a, b []float32) float64 {
	var ab, aa, bb float64 // of float32, whose squares a float64 holds
	for i, x := range a {
		x, y := float64(x), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return max(-1, min(ab/math.Sqrt(aa)/math.Sqrt(bb), 1))
}
