package stat

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Interval is a confidence interval.
type Interval struct {
	Low, High float64
}

// Bootstrap returns 95 % percentile intervals for the means of several measures of the same items
// (Efron and Tibshirani 1993). Rows are measures, all of one length. Items are drawn with replacement,
// resamples times, with the same draws for every measure. Equal seeds give equal intervals. Cost
// O(resamples · items · measures).
func Bootstrap(rows [][]float64, resamples int, seed uint64) ([]Interval, error) {
	if len(rows) == 0 || len(rows[0]) == 0 || resamples < 40 {
		return nil, fmt.Errorf("%w: %d resamples of nothing or too few; give scores and 40 or more resamples", ErrSample, resamples)
	}
	n := len(rows[0])
	// Items side by side: a resample reads memory once for all measures.
	flat := make([]float64, n*len(rows))
	for m, row := range rows {
		if len(row) != n {
			return nil, fmt.Errorf("%w: measures of %d and %d items", ErrSample, n, len(row))
		}
		for i, v := range row {
			flat[i*len(rows)+m] = v
		}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	means := make([][]float64, len(rows))
	sum := make([]float64, len(rows))
	for range resamples {
		clear(sum)
		for range n {
			at := rng.IntN(n) * len(rows)
			for m, v := range flat[at : at+len(rows)] {
				sum[m] += v
			}
		}
		for m, s := range sum {
			means[m] = append(means[m], s/float64(n))
		}
	}
	out := make([]Interval, len(rows))
	for m := range out {
		slices.Sort(means[m])
		out[m] = Interval{quantile(means[m], .025), quantile(means[m], .975)}
	}
	return out, nil
}

// quantile interpolates between the two nearest of sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
