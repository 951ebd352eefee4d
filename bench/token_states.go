package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/modulate"
)

// tokenStates are the ways to change the states of a query's tokens: no change; the shift of the query vector added to
// each; each modulated like the query vector; each multiplied by the factors of its own token.
var tokenStates = []string{"plain", "shift", "each", "own"}

// noFactors refuses a system with a bridge that has no factors for single tokens.
func noFactors(system string) error {
	var with []string
	for _, v := range modulate.Variants() {
		if v.ScalesTokens() {
			with = append(with, v.Name)
		}
	}
	return fmt.Errorf("%w: states=own: %s has no factors of single tokens; use a stack whose fitted parts are of %s, such as rlr+slr, or a fusion with one, such as hybrid:rlr+slr",
		ErrOption, system, strings.Join(with, ", "))
}

// moved returns the states of the query as its bridge changes them.
func (r tokenScorer) moved(q Question) ([]float32, error) {
	switch r.states {
	case "shift":
		return r.shifted(q), nil
	case "each":
		return r.modulated(q), nil
	case "own":
		return r.scaler.ScaleTokens(nil, inputOf(q))
	}
	return q.Output.Hidden, nil
}

// modulated returns the states after each was modulated like a query vector.
func (r tokenScorer) modulated(q Question) []float32 {
	d := r.dim
	out := slices.Clone(q.Output.Hidden)
	for i := 0; i < len(out); i += d {
		row := out[i : i+d]
		norm := length(row)
		if norm == 0 {
			continue
		}
		one := q
		one.Output.Dense = make([]float32, d)
		for j, x := range row {
			one.Output.Dense[j] = float32(float64(x) / norm)
		}
		for j, x := range r.vector(nil, one) {
			row[j] = float32(float64(x) * norm)
		}
	}
	return out
}

// shifted returns the states, each with the shift of the query vector added.
func (r tokenScorer) shifted(q Question) []float32 {
	d := r.dim
	out := slices.Clone(q.Output.Hidden)
	mean := make([]float32, d)
	n := float32(len(out) / d)
	for i, x := range out {
		mean[i%d] += x / n
	}
	norm := float32(length(mean))
	for i, x := range r.vector(nil, q) {
		shift := norm * (x - q.Output.Dense[i])
		for j := i; j < len(out); j += d {
			out[j] += shift
		}
	}
	return out
}

func length(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}
