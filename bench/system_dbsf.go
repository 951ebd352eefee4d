package bench

import (
	"math"

	"github.com/lexsem/lexsem/engine/fusion"
)

// DistributionFused is distribution-based score fusion. It scales the scores of each retriever over
// the candidates so that the mean − 3 standard deviations becomes 0 and the mean + 3 becomes 1, and
// adds them. The engine has no such fusion; it is for comparison only.
var _ = registerFused("dbsf", "dense", "distribution-based score fusion with BM25", func(_ *Setting, r fusedRetriever) Retriever {
	r.rank = func(cs []fusion.Candidate, _ float64) error {
		byDistribution(cs)
		return nil
	}
	return r
})

// byDistribution scores and sorts cs. A leg whose scores are all equal adds nothing.
func byDistribution(cs []fusion.Candidate) {
	for i := range cs {
		cs[i].Score = 0
	}
	for _, by := range []func(fusion.Candidate) float64{fusion.Dense, fusion.Lexical} {
		mean, square := 0.0, 0.0
		for _, c := range cs {
			mean += by(c) / float64(len(cs))
		}
		for _, c := range cs {
			square += (by(c) - mean) * (by(c) - mean) / float64(len(cs))
		}
		if deviation := math.Sqrt(square); deviation > 0 {
			for i := range cs {
				cs[i].Score += 0.5 + (by(cs[i])-mean)/(6*deviation)
			}
		}
	}
	fusion.Sort(cs, func(c fusion.Candidate) float64 { return c.Score })
}
