package bench

import "math"

// NDCGExp is NDCG with the gain 2^grade − 1 (Burges et al. 2005), which gives the highest grades more
// weight. With grades of 0 and 1 it equals NDCG. Grades above 62 count as 62.
var _ = RegisterMetric(MetricKind{
	Name: "ndcg-exp",
	Doc:  "NDCG with the gain 2^grade − 1",
	Gain: true,
	Score: func(grades, ideal []int, k int) float64 {
		return expDCG(grades) / expDCG(ideal[:min(k, len(ideal))])
	},
})

func expDCG(grades []int) float64 {
	sum := 0.0
	for i, g := range grades {
		sum += float64(uint64(1)<<min(g, 62)-1) / math.Log2(float64(i+2))
	}
	return sum
}
