package stat

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Stratum is a group of items with several measures each.
type Stratum struct {
	// Rows are the measures, [measures][items].
	Rows [][]float64
	// Weight is the weight of this stratum's mean in the overall mean.
	Weight float64
}

// StratifiedMeans returns, for each measure, the weighted mean of its means in the strata, with a 95 %
// percentile interval. Items are drawn with replacement within each stratum, resamples times, with the
// same draws for every measure. Strata are fixed, so the interval is for other items of the same
// strata. Equal seeds give equal intervals. Cost O(resamples · items · measures).
func StratifiedMeans(strata []Stratum, resamples int, seed uint64) ([]float64, []Interval, error) {
	if len(strata) == 0 || len(strata[0].Rows) == 0 || resamples < 40 {
		return nil, nil, fmt.Errorf("%w: %d resamples of nothing or too few; give scores and 40 or more resamples", ErrSample, resamples)
	}
	measures := len(strata[0].Rows)
	total := 0.0
	flat := make([][]float64, len(strata)) // items side by side, as in Bootstrap
	means := make([]float64, measures)
	for s, st := range strata {
		if len(st.Rows) != measures || len(st.Rows[0]) == 0 || !(st.Weight > 0) {
			return nil, nil, fmt.Errorf("%w: stratum %d has %d measures and weight %v; every stratum has the same measures, an item and a weight above 0", ErrSample, s, len(st.Rows), st.Weight)
		}
		total += st.Weight
		n := len(st.Rows[0])
		flat[s] = make([]float64, n*measures)
		for m, row := range st.Rows {
			if len(row) != n {
				return nil, nil, fmt.Errorf("%w: measures of %d and %d items", ErrSample, n, len(row))
			}
			for i, v := range row {
				flat[s][i*measures+m] = v
			}
			means[m] += st.Weight * Mean(row)
		}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(strata))))
	draws := make([][]float64, measures)
	for range resamples {
		at := make([]float64, measures)
		for s, st := range strata {
			n := len(st.Rows[0])
			share := st.Weight / float64(n)
			for range n {
				i := rng.IntN(n) * measures
				for m, v := range flat[s][i : i+measures] {
					at[m] += share * v
				}
			}
		}
		for m, v := range at {
			draws[m] = append(draws[m], v/total)
		}
	}
	out := make([]Interval, measures)
	for m := range out {
		means[m] /= total
		slices.Sort(draws[m])
		out[m] = Interval{quantile(draws[m], .025), quantile(draws[m], .975)}
	}
	return means, out, nil
}
