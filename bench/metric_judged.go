package bench

// Judged is the share of the first k ranks that have a judgement (ir_measures: Judged@k). If it is low,
// other metrics count many passages as irrelevant that nobody judged.
var _ = RegisterMetric(MetricKind{
	Name:  "judged",
	Doc:   "judged passages among the first k, divided by the number of ranks there are up to k",
	Whole: true,
	ScoreJudged: func(r JudgedRanking) float64 {
		if len(r.Grades) == 0 {
			return 0
		}
		judged := 0
		for _, g := range r.Grades {
			if g != Unjudged {
				judged++
			}
		}
		return float64(judged) / float64(len(r.Grades))
	},
})
