package bench

// RPrec is the precision at rank R, the number of positives (trec_eval: Rprec).
var _ = RegisterMetric(MetricKind{
	Name:  "rprec",
	Doc:   "positives among the first R ranks, divided by R, the number of all positives",
	Whole: true,
	Score: func(grades, ideal []int, _ int) float64 {
		r := len(ideal)
		return float64(positives(grades[:min(r, len(grades))])) / float64(r)
	},
})
