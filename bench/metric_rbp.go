package bench

// RBP is the rank-biased precision of a reader who goes on to the next rank with probability 0.8
// (Moffat and Zobel 2008; ir_measures: RBP(p=0.8)).
var _ = RegisterMetric(MetricKind{
	Name:  "rbp",
	Doc:   "0.2 · Σ 0.8^(rank − 1) over the ranks of the positives",
	Whole: true,
	Score: func(grades, _ []int, _ int) float64 {
		const p = .8
		sum, weight := 0.0, 1-p
		for _, g := range grades {
			if g > 0 {
				sum += weight
			}
			weight *= p
		}
		return sum
	},
})
