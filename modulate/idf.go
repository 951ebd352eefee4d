package modulate

// IDF is the weight of a token that df of n passages contain, the one BM25
// uses: ln(1 + (n − df + ½)/(df + ½)) > 0. RLR and the local bridges weigh by it.
func IDF(n, df int) float64 { return idf(n, df) }
