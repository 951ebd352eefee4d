package sage

import (
	"context"
	"math"
)

// BM25 is BM25+ (Lv and Zhai 2011) as the rank_bm25 package has it, k1 1.5,
// b 0.75, δ 1, with the statistics of the candidates, divided by the highest
// score among them.
var BM25 = Register(Similarity{
	Name: "bm25", Doc: "BM25+ over tokens, divided by the highest of the candidates", Collection: true,
	Prepare: func(_ context.Context, _ Env, texts []string) (Scorer, error) {
		return bm25{tokenize(texts)}, nil
	},
})

const bm25K1, bm25B, bm25Delta = 1.5, .75, 1.

type bm25 struct{ tokens [][]int32 }

// posting is how often a token stands in a candidate.
type posting struct {
	candidate int32
	count     float64
}

func (m bm25) Against(candidates []int) func(dst []float64, query int) {
	score := m.raw(candidates)
	return func(dst []float64, query int) {
		score(dst, query)
		most := 0.0
		for _, s := range dst {
			most = max(most, s)
		}
		if most == 0 {
			return
		}
		for i := range dst {
			dst[i] /= most
		}
	}
}

// raw gives the scores before they are divided.
func (m bm25) raw(candidates []int) func(dst []float64, query int) {
	postings := map[int32][]posting{}
	norm := make([]float64, len(candidates))
	total := 0.0
	for i, at := range candidates {
		norm[i] = float64(len(m.tokens[at]))
		total += norm[i]
		for _, t := range m.tokens[at] {
			p := postings[t]
			if n := len(p); n > 0 && p[n-1].candidate == int32(i) {
				p[n-1].count++
				continue
			}
			postings[t] = append(p, posting{int32(i), 1})
		}
	}
	mean := total / float64(len(candidates))
	for i := range norm {
		norm[i] = bm25K1 * (1 - bm25B + bm25B*norm[i]/mean)
	}
	n := float64(len(candidates))
	return func(dst []float64, query int) {
		clear(dst)
		floor := 0.0
		for _, t := range m.tokens[query] {
			p := postings[t]
			if len(p) == 0 {
				continue
			}
			idf := math.Log((n + 1) / float64(len(p)))
			floor += idf * bm25Delta
			for _, e := range p {
				dst[e.candidate] += idf * e.count * (bm25K1 + 1) / (norm[e.candidate] + e.count)
			}
		}
		for i := range dst {
			dst[i] += floor
		}
	}
}
