package bench

// MAP is the average precision: the sum of the precision at the rank of each positive among the first
// k, divided by the number of all positives (trec_eval: map_cut_k, and map without a cutoff).
var _ = RegisterMetric(MetricKind{
	Name:  "map",
	Doc:   "Σ precision at the ranks of the positives among the first k, divided by all positives",
	Whole: true,
	Score: func(grades, ideal []int, _ int) float64 {
		sum, found := 0.0, 0
		for i, g := range grades {
			if g > 0 {
				found++
				sum += float64(found) / float64(i+1)
			}
		}
		return sum / float64(len(ideal))
	},
})
