package bench

// Success tells whether a positive is among the first k ranks (trec_eval: success_k; also called hit
// rate).
var _ = RegisterMetric(MetricKind{
	Name: "success",
	Doc:  "1 if a positive is among the first k, else 0",
	Score: func(grades, _ []int, _ int) float64 {
		return float64(min(positives(grades), 1))
	},
})
