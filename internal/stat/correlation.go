package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Pearson is the product-moment correlation of two samples of equal length, in [-1, 1]. It needs at
// least two pairs and some variation in both samples.
func Pearson(x, y []float64) (float64, error) {
	if len(x) != len(y) || len(x) < 2 {
		return 0, fmt.Errorf("%w: correlation of %d with %d values; give two or more pairs", ErrSample, len(x), len(y))
	}
	mx, my := Mean(x), Mean(y)
	var xx, yy, xy float64
	for i := range x {
		a, b := x[i]-mx, y[i]-my
		xx, yy, xy = xx+a*a, yy+b*b, xy+a*b
	}
	if xx == 0 || yy == 0 {
		return 0, fmt.Errorf("%w: correlation with a constant", ErrSample)
	}
	return max(-1, min(1, xy/math.Sqrt(xx)/math.Sqrt(yy))), nil
}

// Spearman is the rank correlation: Pearson of the ranks, where ties share their mean rank. Cost O(n
// log n).
func Spearman(x, y []float64) (float64, error) {
	return Pearson(Ranks(x), Ranks(y))
}

// Ranks returns the rank of each value, from 1 for the smallest. Ties share their mean rank.
func Ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	ranks := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			ranks[at] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}

// Mean is the arithmetic mean, or NaN without values.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
