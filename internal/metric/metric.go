// Package metric says what the metric of a database means outside its index: which vectors are valid and what
// is kept of them, which score a distance stands for, and whether queries can be modulated. Start with [Of].
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

// Of reads the name of a metric. Another one than index.Metrics are is fault.ErrInvalid.
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

// Directions says that vectors count by their directions alone: they are kept at length
// 1, and queries can be modulated, which turns their direction, and be compared with
// passages token by token. Under the other metrics vectors are kept and used as they are
// given. Of directions alone there are the sums of RLR, local and fitted bridges, and
// token states, and calibrated and convex fusion.
func (m Metric) Directions() bool { return m.String() == index.Cosine }

// Needs is the error of a call for something that there is of directions alone, nil where
// it can be done.
func (m Metric) Needs(what string) error {
	if m.Directions() {
		return nil
	}
	return fmt.Errorf("%w: %s in a database of metric %s: it works on directions, and here lengths count; make a database of metric %s for it",
		fault.ErrInvalid, what, m, index.Cosine)
}

// Check says why a vector of the right length cannot be one of a document or of a query,
// or nil: it is not finite; or its length is 0 where Directions, above 1e18 elsewhere.
func (m Metric) Check(v []float32) error { return index.CheckVector(string(m), v) }

// Vector returns a copy of a vector that somebody gave, as it is kept and searched with.
// What Check refuses, and another length than dim, is fault.ErrInvalid.
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

// Score is the score that a distance of the index stands for, higher is better: the
// cosine, the dot product, or the squared distance below 0.
func (m Metric) Score(distance float32) float64 {
	if m.Directions() {
		return 1 - float64(distance)
	}
	return 0 - float64(distance) // which is not −0
}

// Scores sets out to the scores of q with the vectors in rows [len(out) × len(q)], which
// have length 1, as q has, where Directions.
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

// Holds says whether a vector in the index is the stored one. Where Directions, the index
// has normalised it once more, which may move the last bits of a number.
func (m Metric) Holds(indexed, stored []float32) bool {
	if !m.Directions() {
		return slices.Equal(indexed, stored)
	}
	return slices.EqualFunc(indexed, stored, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })
}

// Cosine is that of two vectors of one length, in [-1, 1]; 0 where one of them has no
// direction.
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
