package stat

import (
	"cmp"
	"slices"
)

// Holm adjusts the p values of several comparisons by Holm's step-down method (1979), in the same
// order. Comparing adjusted values with a level bounds the probability of any false discovery by that
// level. The comparisons may depend on one another.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	least := 0.0
	for i, at := range order {
		least = max(least, min(1, p[at]*float64(len(p)-i)))
		out[at] = least
	}
	return out
}
