package sage

import (
	"context"
	"math"
)

// Okapi is the classic BM25 as in the rank_bm25 package: without δ. Tokens in more than half of the
// candidates would have a negative weight; they get ε times the mean weight of all tokens.
var _ = register(similarity{
	Name: "bm25:okapi", Doc: "Okapi BM25 over tokens, divided by the highest of the candidates", Collection: true,
	Prepare: func(_ context.Context, _ env, texts []string) (scorer, error) {
		return bm25{tokenize(texts), okapiIDF, 0}, nil
	},
})

const okapiEpsilon = .25

func okapiIDF(of []int) []float64 {
	out := make([]float64, len(of))
	sum, tokens := 0.0, 0
	for f := 1; f < len(of); f++ {
		out[f] = math.Log((float64(len(of)-1-f) + .5) / (float64(f) + .5))
		sum += out[f] * float64(of[f])
		tokens += of[f]
	}
	for f, w := range out {
		if w < 0 {
			out[f] = okapiEpsilon * sum / float64(tokens)
		}
	}
	return out
}
