package bench

import "math"

// NDCG is the normalised discounted cumulative gain with linear gain and the discount 1/log2(rank+1),
// as in trec_eval (ndcg_cut) and BEIR; Järvelin and Kekäläinen 2002. The ideal ranking is also cut at
// k.
var _ = RegisterMetric(MetricKind{
	Name: "ndcg",
	Doc:  "Σ grade/log2(rank+1) over the first k ranks, divided by the best possible sum",
	Gain: true,
	Score: func(grades, ideal []int, k int) float64 {
		return dcg(grades) / dcg(ideal[:min(k, len(ideal))])
	},
})

func dcg(grades []int) float64 {
	sum := 0.0
	for i, g := range grades {
		sum += float64(g) / math.Log2(float64(i+2))
	}
	return sum
}
