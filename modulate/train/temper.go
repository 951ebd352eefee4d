package train

import (
	"math"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// temper scales what the descent has learned by how rare each token is in the
// corpus:
//
//	W_t ← W⁰_t + s · idf_t/idf_max · (W_t − W⁰_t)
//
// with W⁰ the start; b stays. The descent learns the corpus's own words by
// heart, and with them noise, which queries in other words, such as questions,
// pay for. Tokens of many passages have the least to say of each, stand in
// nearly every question, and Adam moves them as far as rare ones. Tempering
// keeps more of the gain on copied words at a given loss of judged questions
// than a smaller learning rate, decay, one factor for all, idf weights in the
// descent, a penalty on the distance from the dense ranking, and bounds on the
// logits or on the angle between q and q_out do (docs/METHOD.md).
func temper(p *modulate.Projection, base *modulate.Weights, idf []float64, s float64) {
	start := func(t int32) []float32 {
		if base != nil {
			if r := base.Projection.Slot(t); r >= 0 {
				return base.Projection.Rows()[r*p.Dim() : (r+1)*p.Dim()]
			}
		}
		return nil
	}
	for r, t := range p.Tokens() {
		pull(p.Rows()[r*p.Dim():(r+1)*p.Dim()], start(t), float32(s*idf[int(t)%len(idf)]))
	}
}

// pull moves x to from + f·(x − from); from is 0 where it is nil.
func pull(x, from []float32, f float32) {
	for i := range x {
		var at float32
		if from != nil {
			at = from[i]
		}
		x[i] = at + f*(x[i]-at)
	}
}

// idf is idf_t/idf_max of each token over the distinct passages, in (0, 1], with
// the idf of RLR.
func (s *passages) idf(enc encoder.Encoder) []float64 {
	df := make([]float64, enc.VocabSize())
	for _, text := range s.texts {
		for _, t := range enc.Tokenize(encoder.Passage, text).Lexical(nil) {
			if t >= 0 && int(t) < len(df) {
				df[t]++
			}
		}
	}
	n := float64(len(s.texts))
	weight := func(df float64) float64 { return math.Log1p((n - df + 0.5) / (df + 0.5)) }
	for t := range df {
		df[t] = weight(df[t]) / weight(0)
	}
	return df
}
