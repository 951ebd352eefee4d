package bench

// MRR is the reciprocal rank of the first positive passage, or 0 if none is among the first k
// (trec_eval: recip_rank, of the cut run).
var _ = RegisterMetric(MetricKind{
	Name:  "mrr",
	Doc:   "1/rank of the first positive among the first k, else 0",
	Whole: true,
	Score: func(grades, _ []int, _ int) float64 {
		for i, g := range grades {
			if g > 0 {
				return 1 / float64(i+1)
			}
		}
		return 0
	},
})
