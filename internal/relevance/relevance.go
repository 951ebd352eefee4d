// Package relevance estimates how probable it is that a hit is relevant, whatever the query: see [Probability].
package relevance

import (
	"math"
	"strings"
)

// Unlikely is the probability below which a hit is probably irrelevant: the first hits of 9 out of 10 queries about
// other subjects are below it, and of 1 out of 50 queries with an answer.
const Unlikely = 0.1

// Evidence holds the facts about a hit that Probability uses.
type Evidence struct {
	Dense, Lexical bool    // the retrievers of the search
	Cosine         float64 // with the modulated query vector
	Unrelated      float64 // the encoder's (encoder.Unrelated)
	Presence       float64 // term recall
	Unknown        float64 // share of the query that the vector cannot know: the encoder has no tokens for it, or it stands only in the name or fields of the file
}

// Probability estimates the probability that a hit is relevant: a logistic function of the cosine above that of
// unrelated texts, z = (cos − u)/(1 − u), and of the term recall s.
//
//	hybrid 11.9·z + 3.7·s − 7.6    dense 15·z − 7    lexical 6.8·s − 3.6
//
// For the share of the query that the encoder does not know, the formula with words alone is used. The constants were
// fitted to the first hits of queries of ten judged corpora, and with equal total weight to queries about subjects
// that the corpus does not cover, with all-MiniLM-L6-v2. Fitted to nine corpora, the expected calibration error on
// the tenth is 0.05 on average, and 0.024 over all hits together; with words alone it is 0.09 and 0.045. A query
// whose answer uses other words gets too low a value.
//
// With token states the error over first hits of six sets is 0.048 on average (0.032 to 0.049, on the 90 questions of
// gitdocs 0.084) and 0.027 over all hits together, with queries of other subjects at equal weight. Constants fitted to
// these hits, with or without the score of the token states, are not better: 0.051 and 0.049 on the set left out. lexsem
// bench --metrics ece@1 --tasks query,unanswered:FOLDER measures the error, with the queries of another folder.
//
// Other models need other constants (Fitted). With these the error was, in hybrid search and with vectors alone, 0.07 and
// 0.11 with bge-small-en-v1.5 (3 sets), 0.14 and 0.24 with the static table (3), 0.11 with multilingual-e5-small-q4 (7
// sets: German 0.04, Chinese 0.16). The cosine of a query with unrelated passages in place of u does not help, as it
// differs by language and corpus.
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

// Fitted reports whether the constants of Probability hold for a model, by its name in the fingerprint: the default one,
// in bytes or in float32. A model of words after it changes neither cosine nor term recall. Feature hashing counts as fitted, for tests; its error is
// 0.07.
func Fitted(model string) bool {
	model, _, _ = strings.Cut(model, "+splade:")
	return strings.TrimSuffix(model, "-int8") == "all-MiniLM-L6-v2" || strings.HasPrefix(model, "hash-")
}
