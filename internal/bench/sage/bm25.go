package sage

import (
	"context"
	"math"
)

// BM25 is BM25+ (Lv and Zhai 2011) as in the rank_bm25 package: k1 1.5, b 0.75, δ 1, with the
// statistics of the candidates. Scores are divided by the highest one.
var _ = register(similarity{
	Name: "bm25", Doc: "BM25+ over tokens, divided by the highest of the candidates", Collection: true,
	Prepare: func(_ context.Context, _ env, texts []string) (scorer, error) {
		return bm25{tokenize(texts), plusIDF, 1}, nil
	},
})

const bm25K1, bm25B = 1.5, .75

type bm25 struct {
	tokens [][]int32
	// idf returns, at f, the weight of a token that f candidates contain; of[f] is the
	// number of such tokens, and the last f is the number of candidates.
	idf   func(of []int) []float64
	delta float64 // δ
}

func plusIDF(of []int) []float64 {
	out := make([]float64, len(of))
	for f := 1; f < len(of); f++ {
		out[f] = math.Log(float64(len(of)) / float64(f))
	}
	return out
}

// posting counts a token in a candidate.
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
		for i := range dst {
			if dst[i] > 0 {
				dst[i] /= most
			} else {
				dst[i] = 0 // Okapi's weights go below
			}
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
	of := make([]int, len(candidates)+1)
	for _, p := range postings {
		of[len(p)]++
	}
	weights := m.idf(of)
	return func(dst []float64, query int) {
		clear(dst)
		floor := 0.0
		for _, t := range m.tokens[query] {
			p := postings[t]
			if len(p) == 0 {
				continue
			}
			idf := weights[len(p)]
			floor += idf * m.delta
			for _, e := range p {
				dst[e.candidate] += idf * e.count * (bm25K1 + 1) / (norm[e.candidate] + e.count)
			}
		}
		for i := range dst {
			dst[i] += floor
		}
	}
}
