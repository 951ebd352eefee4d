package bench

// Precision is the share of positives among the first k ranks. Missing ranks count as misses
// (trec_eval: P_k).
var _ = RegisterMetric(MetricKind{
	Name: "precision",
	Doc:  "positives among the first k, divided by k",
	Score: func(grades, _ []int, k int) float64 {
		return float64(positives(grades)) / float64(k)
	},
})
