// Package explain has the parts of an engine.Explanation: the contributions of words, tokens and dimensions
// to the score of a document.
package explain

// Word is one distinct word of the query, and its part of the score.
type Word struct {
	Term       string  // analysed: lower case, stemmed
	Start, End int     // bytes of the query where it first stands
	Count      int     // number of times in the document or chunk
	Documents  int     // documents or chunks of the database that have it
	IDF        float64 // inverse document frequency
	BM25       float64 // part of Hit.BM25
	Coverage   float64 // part of Hit.Coverage, the normalised BM25
	Most       float64 // upper limit of Coverage, and the part of Hit.Presence if found; all words add up to 1
}

// Pair is one pair of adjacent words of the query, for the bigram match.
type Pair struct {
	First, Second string
	Share         float64 // part of Hit.Pair if found; all pairs add up to 1
	Found         bool    // the words are adjacent and in this order
}

// Token is one token of the query, and its part of the modulated score.
type Token struct {
	ID         int32   // id in the vocabulary
	Token      string  // entry of the vocabulary, or the part of the query
	Start, End int     // bytes of the query where it first stands; 0, 0 for none
	Shift      float64 // its part by the shift (additive)
	Scale      float64 // its part by the scale (softmax product)
}

// Dimension is the part of one vector dimension in the score, before and after modulation.
type Dimension struct {
	Dimension     int     // number of the dimension, from 0
	Before, After float64 // its summand of the score
}

// Match is the position of a word of the query in the document.
type Match struct {
	Field      string // "title" or "text"
	Start, End int    // bytes of the title or text
	Term       string // analysed word
}

// Tie is one link of the token alignment: a word of the query and the word of the document that matches it best.
type Tie struct {
	Word       string  // word of the query
	Start, End int     // bytes of the query
	Weight     float64 // share of the query, by idf; all words add up to 1
	Match      string  // word of the document
	Field      string  // "title" or "text"
	MatchStart int     // bytes of the title or text
	MatchEnd   int
	Cosine     float64 // similarity in [-1, 1]; Σ Weight·Cosine is the match of the whole text in Hit.TokenScore
}
