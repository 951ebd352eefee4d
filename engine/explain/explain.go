// Package explain has the parts of an engine.Explanation: the contributions of words, tokens and dimensions
// to the score of a document. Their JSON is that of HTTP and the command line.
package explain

// Word is one distinct word of the query, and its part of the score.
type Word struct {
	Term      string  `json:"term"`  // analysed: lower case, stemmed
	Start     int     `json:"start"` // bytes of the query where it first stands
	End       int     `json:"end"`
	Count     int     `json:"count"`     // number of times in the document or chunk
	Documents int     `json:"documents"` // documents or chunks of the database that have it
	IDF       float64 `json:"idf"`       // inverse document frequency
	BM25      float64 `json:"bm25"`      // part of Hit.BM25
	Coverage  float64 `json:"coverage"`  // part of Hit.Coverage, the normalised BM25
	Most      float64 `json:"most"`      // upper limit of Coverage, and the part of Hit.Presence if found; all words add up to 1
}

// Pair is one pair of adjacent words of the query, for the bigram match.
type Pair struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	Share  float64 `json:"share"` // part of Hit.Pair if found; all pairs add up to 1
	Found  bool    `json:"found"` // the words are adjacent and in this order
}

// Token is one token of the query, and its part of the modulated score.
type Token struct {
	ID    int32   `json:"id"`    // id in the vocabulary
	Token string  `json:"token"` // entry of the vocabulary, or the part of the query
	Start int     `json:"start"` // bytes of the query where it first stands; 0, 0 for none
	End   int     `json:"end"`
	Shift float64 `json:"shift"` // its part by the shift (additive)
	Scale float64 `json:"scale"` // its part by the scale (softmax product)
}

// Dimension is the part of one vector dimension in the score, before and after modulation.
type Dimension struct {
	Dimension int     `json:"dimension"` // number of the dimension, from 0
	Before    float64 `json:"before"`    // its summand of the score
	After     float64 `json:"after"`
}

// Match is the position of a word of the query in the document.
type Match struct {
	Field string `json:"field"` // "title" or "text"
	Start int    `json:"start"` // bytes of the title or text
	End   int    `json:"end"`
	Term  string `json:"term"` // analysed word
}

// Tie is one link of the token alignment: a word of the query and the word of the document that matches it best.
type Tie struct {
	Word       string  `json:"word"`  // word of the query
	Start      int     `json:"start"` // bytes of the query
	End        int     `json:"end"`
	Weight     float64 `json:"weight"`      // share of the query, by idf; all words add up to 1
	Match      string  `json:"match"`       // word of the document
	Field      string  `json:"field"`       // "title" or "text"
	MatchStart int     `json:"match_start"` // bytes of the title or text
	MatchEnd   int     `json:"match_end"`
	Cosine     float64 `json:"cosine"` // similarity in [-1, 1]; Σ Weight·Cosine is the match of the whole text in Hit.TokenScore
}
