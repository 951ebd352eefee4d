package bench

// Bpref is the binary preference (Buckley and Voorhees 2004; trec_eval: bpref): how often a passage
// judged relevant stands above those judged irrelevant. Passages without a judgement do not count.
var _ = RegisterMetric(MetricKind{
	Name:  "bpref",
	Doc:   "mean over the relevant of 1 − irrelevant ones above / the lesser of relevant and irrelevant",
	Whole: true,
	ScoreJudged: func(r JudgedRanking) float64 {
		if r.Relevant == 0 {
			return 0
		}
		sum, above := 0.0, 0
		for _, g := range r.Grades {
			switch {
			case g < 0: // no judgement, or one that trec_eval counts as none
			case g < r.Level:
				above++
			case above == 0:
				sum++
			default:
				sum += 1 - float64(min(above, r.Relevant))/float64(min(r.Irrelevant, r.Relevant))
			}
		}
		return sum / float64(r.Relevant)
	},
})
