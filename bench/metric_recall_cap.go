package bench

// RecallCap is recall divided by the best that k ranks can reach (BEIR: R_cap@k), so that queries with
// more than k positives can reach 1.
var _ = RegisterMetric(MetricKind{
	Name: "recall-cap",
	Doc:  "positives among the first k, divided by the lesser of k and all positives",
	Score: func(grades, ideal []int, k int) float64 {
		return float64(positives(grades)) / float64(min(k, len(ideal)))
	},
})
