package bench

// Recall is the share of the positives found among the first k ranks (trec_eval: recall_k). With more
// than k positives it cannot reach 1.
var _ = RegisterMetric(MetricKind{
	Name: "recall",
	Doc:  "positives among the first k, divided by all positives",
	Score: func(grades, ideal []int, _ int) float64 {
		return float64(positives(grades)) / float64(len(ideal))
	},
})

func positives(grades []int) int {
	n := 0
	for _, g := range grades {
		if g > 0 {
			n++
		}
	}
	return n
}
