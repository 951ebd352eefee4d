package bench

import (
	"fmt"
	"math"
)

// eceBins is the number of bins of ece.
const eceBins = 10

// ECE is the expected calibration error of engine.Hit.Probability: the hits of each query, of equal weight together, are
// put into ten bins of equal width by their probability, and the metric is the mean over the bins, by weight, of the
// difference between mean probability and share of relevant hits. The value of a query is that of the bins of its hits.
// A query without hits counts 0.
var _ = RegisterMetric(MetricKind{
	Name: "ece",
	Doc:  "expected calibration error of the probabilities of the first k: mean over ten bins of |mean probability − share of relevant|; engine only",
	ScoreAll: func(rankings [][]Ranked, relevant func(query int, passage string) bool) ([]float64, error) {
		var gap, weight [eceBins]float64
		bin := func(h Ranked) int { return max(0, min(int(h.Probability*eceBins), eceBins-1)) }
		known := false
		for q, hits := range rankings {
			for _, h := range hits {
				known = known || h.Probability > 0
				w, y := 1/float64(len(hits)), 0.0
				if relevant(q, h.ID) {
					y = 1
				}
				gap[bin(h)] += w * (h.Probability - y)
				weight[bin(h)] += w
			}
		}
		if !known {
			return nil, fmt.Errorf("%w: ece is of Hit.Probability, which these hits lack; use systems of the engine, such as engine:hybrid/tokens, with the default model", ErrOption)
		}
		out := make([]float64, len(rankings))
		for q, hits := range rankings {
			for _, h := range hits {
				out[q] += math.Abs(gap[bin(h)]) / weight[bin(h)] / float64(len(hits))
			}
		}
		return out, nil
	},
})
