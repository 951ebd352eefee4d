// Package explain has the parts of an engine.Explanation: what words, tokens and
// dimensions give to the score of a document.
package explain

// Word is what one distinct word of the query gives.
type Word struct {
	Term       string // as it was analysed: lower-cased, stemmed
	Start, End int    // bytes of the query it was first read from
	Count      int    // times it stands in the document or chunk
	Documents  int    // documents or chunks of the database that have it
	IDF        float64
	BM25       float64 // its part of Hit.BM25
	Coverage   float64 // its part of Hit.Coverage
	Most       float64 // the limit of its part of Coverage, and its part of Hit.Presence if it is found; these add up to 1
}

// Pair is one pair of adjacent words of the query.
type Pair struct {
	First, Second string
	Share         float64 // its part of Hit.Pair if it is found; these add up to 1
	Found         bool    // stands adjacent and in this order
}

// Token is what one token of the query adds to the modulated cosine.
type Token struct {
	ID         int32
	Token      string // the vocabulary's entry, else the part of the query
	Start, End int    // bytes of the query it first stands for; 0, 0 for none
	Shift      float64
	Scale      float64
}

// Dimension is one dimension's part of the cosine before and after modulation.
type Dimension struct {
	Dimension     int
	Before, After float64
}

// Match is a word of the query in the document.
type Match struct {
	Field      string // "title" or "text"
	Start, End int    // bytes of the document's title or text
	Term       string
}

// Tie is a word of the query with the word of the text that answers it.
type Tie struct {
	Word       string  // of the query
	Start, End int     // its bytes there
	Weight     float64 // its share of the query, by idf; those of all words add up to 1
	Match      string  // the word of the document
	Field      string  // "title" or "text"
	MatchStart int     // its bytes in the document's title or text
	MatchEnd   int
	Cosine     float64 // how near they are, in [-1, 1]. Hit.TokenScore is Σ Weight·Cosine, or more by the words
}
