package fusion

import "math"

// Unlikely is the probability below which a hit is probably none: queries about other things get it for their first hit
// 9 times of 10, queries with an answer 1 time of 50.
const Unlikely = 0.1

// Evidence is what Probability knows of a hit.
type Evidence struct {
	Dense, Lexical bool    // the retrievers of the search
	Cosine         float64 // with the modulated query vector
	Unrelated      float64 // the encoder's (encoder.Unrelated)
	Presence       float64 // term recall
	Unknown        float64 // share of the query that the encoder has no tokens for
}

// Probability estimates how probable it is that a hit is relevant: a logistic function of the cosine beyond that of
// unrelated texts, z = (cos − u)/(1 − u), and the term recall s.
//
//	hybrid 11.9·z + 3.7·s − 7.6    dense 15·z − 7    lexical 6.8·s − 3.6
//
// By the share of the query that the encoder does not know, the line of the words replaces the others. The constants
// were fitted to the first hits of queries of ten judged corpora, and of as much weight of queries asked of a corpus
// about other things, with all-MiniLM-L6-v2. Fitted to nine of them, the expected calibration error on the tenth is
// 0.05 in the mean and 0.024 over all hits together; of words alone it is 0.09 and 0.045. A query with an answer that
// is worded otherwise gets too low a value.
func Probability(e Evidence) float64 {
	words := 6.8*e.Presence - 3.6
	z := max(-1, min((e.Cosine-e.Unrelated)/(1-e.Unrelated), 1))
	x := words
	switch {
	case e.Dense && e.Lexical:
		x = (1-e.Unknown)*(11.9*z+3.7*e.Presence-7.6) + e.Unknown*words
	case e.Dense:
		x = (1-e.Unknown)*(15*z-7) + e.Unknown*words
	}
	return 1 / (1 + math.Exp(-x))
}
