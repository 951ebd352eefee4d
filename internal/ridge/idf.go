package ridge

import "math"

// IDF is the weight of a token that df of n passages have, as in BM25: ln(1 + (n − df + ½)/(df +
// ½)) > 0. RLR and local bridges weigh tokens by it.
func IDF(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// IDF is that weight of token id in the passages of s.
func (s *Sums) IDF(id int32) float64 { return IDF(s.Len(), s.DF(id)) }
