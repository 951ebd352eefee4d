package answer

import "github.com/lexsem/lexsem/engine"

// Explanation shows how the score of a document for a query is made up. The fields have the meanings of
// engine.Explanation.
type Explanation struct {
	Query      string               `json:"query"`
	For        string               `json:"for,omitempty"` // the query with its mistyped words repaired, which was searched for too
	Mode       string               `json:"mode"`
	Variant    string               `json:"variant"`
	ID         string               `json:"id"`
	Title      string               `json:"title"`
	Rank       int                  `json:"rank"`
	Chunk      int                  `json:"chunk"`
	Chunks     int                  `json:"chunks"`
	Start      int                  `json:"start"`
	End        int                  `json:"end"`
	Score      float32              `json:"score"`
	Cosine     float32              `json:"cosine"`
	Modulated  float32              `json:"modulated"`
	BM25       float32              `json:"bm25"`
	Coverage   float32              `json:"coverage"`
	Presence   float32              `json:"presence"`
	Near       float32              `json:"near"`
	Pair       float32              `json:"pair"`
	TitleMatch float32              `json:"title_match"`
	Terms      []ExplainedTerm      `json:"terms"`
	Words      []ExplainedWord      `json:"words"`
	Pairs      []ExplainedPair      `json:"pairs"`
	Attributed bool                 `json:"attributed"`
	Plain      float64              `json:"plain"`
	Bias       float64              `json:"bias"`
	Tokens     []ExplainedToken     `json:"tokens"`
	Dimensions []ExplainedDimension `json:"dimensions"`
	Matches    []ExplainedMatch     `json:"matches"`
	TokenScore float32              `json:"token_score"`
	Ties       []ExplainedTie       `json:"ties"`

	Probability float32 `json:"probability,omitempty"` // that the document is relevant; absent if not known

	Symbol   string   `json:"symbol,omitempty"`    // the function or type of source code in which the chunk lies, or the page, row or headings of other files
	Span     *Span    `json:"span,omitempty"`      // the part of the chunk that answers best, if requested and known
	Rerank   *float64 `json:"rerank,omitempty"`    // the reranker's score, if it read the document
	Reranked int      `json:"reranked,omitempty"`  // hits that it read
	Stale    int      `json:"stale,omitempty"`     // passages that RLR's factor does not fully include; 0 if RLR did not modulate the query
	BridgeOf string   `json:"bridge_of,omitempty"` // the filter for whose passages the bridge was made that this query used
	Required []string `json:"required,omitempty"`  // what the operators of the query require
	Excluded []string `json:"excluded,omitempty"`  // and what they exclude, without their signs
	Unmet    []string `json:"unmet,omitempty"`     // phrases in quotes that no document has; they were not required
	Waiting  int      `json:"waiting,omitempty"`   // passages that have no vector yet
	Passages int      `json:"passages,omitempty"`  // of so many; both are 0 if all have one
	Picture  []byte   `json:"picture,omitempty"`   // a PNG that shows by which parts an image was found, if requested; base64
}

// ExplainedTie is one pair of the token alignment: a word of the query with the word of the document
// that matches it.
type ExplainedTie struct {
	Word       string  `json:"word"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Weight     float64 `json:"weight"`
	Match      string  `json:"match"`
	Field      string  `json:"field"`
	MatchStart int     `json:"match_start"`
	MatchEnd   int     `json:"match_end"`
	Cosine     float64 `json:"cosine"`
}

// ExplainedTerm is one summand of the score.
type ExplainedTerm struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}

// ExplainedWord is one distinct word of the query.
type ExplainedWord struct {
	Term      string  `json:"term"`
	Start     int     `json:"start"`
	End       int     `json:"end"`
	Count     int     `json:"count"`
	Documents int     `json:"documents"`
	IDF       float64 `json:"idf"`
	BM25      float64 `json:"bm25"`
	Coverage  float64 `json:"coverage"`
	Most      float64 `json:"most"`
}

// ExplainedPair is one pair of adjacent words of the query.
type ExplainedPair struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	Share  float64 `json:"share"`
	Found  bool    `json:"found"`
}

// ExplainedToken is the part of one token in the modulated cosine.
type ExplainedToken struct {
	ID    int32   `json:"id"`
	Token string  `json:"token"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Shift float64 `json:"shift"`
	Scale float64 `json:"scale"`
}

// ExplainedDimension is one dimension's part of the cosine.
type ExplainedDimension struct {
	Dimension int     `json:"dimension"`
	Before    float64 `json:"before"`
	After     float64 `json:"after"`
}

// ExplainedMatch is a word of the query in the document; Start and End are byte offsets in Field.
type ExplainedMatch struct {
	Field string `json:"field"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Term  string `json:"term"`
}

// NewExplanation returns the JSON form of an explanation.
func NewExplanation(query string, x engine.Explanation) Explanation {
	e := Explanation{
		Query: query, For: x.For, Mode: x.Trace.Mode, Variant: x.Trace.Variant, ID: x.ID, Title: x.Title, Rank: x.Rank,
		Chunk: x.Chunk, Chunks: x.Chunks, Start: x.Start, End: x.End,
		Score: x.Score, Probability: x.Probability, Cosine: x.Cosine, Modulated: x.Modulated, BM25: x.BM25, Coverage: x.Coverage, Presence: x.Presence, Near: x.Near, Pair: x.Pair, TitleMatch: x.TitleMatch,
		Terms: []ExplainedTerm{}, Words: []ExplainedWord{}, Pairs: []ExplainedPair{},
		Attributed: x.Attributed, Plain: x.Plain, Bias: x.Bias,
		Tokens: []ExplainedToken{}, Dimensions: []ExplainedDimension{}, Matches: []ExplainedMatch{},
		TokenScore: x.TokenScore, Ties: []ExplainedTie{},
		Symbol: x.Symbol, Span: spanOf(x.Hit), Rerank: rerankOf(x.Hit), Reranked: x.Trace.Reranked, Required: x.Trace.Required, Excluded: x.Trace.Excluded, Unmet: x.Trace.Unmet, Waiting: x.Trace.Waiting, Passages: x.Trace.Passages, Picture: x.Picture, Stale: x.Trace.Stale, BridgeOf: x.Trace.BridgeOf,
	}
	for _, t := range x.Terms {
		e.Terms = append(e.Terms, ExplainedTerm(t))
	}
	for _, w := range x.Words {
		e.Words = append(e.Words, ExplainedWord(w))
	}
	for _, p := range x.Pairs {
		e.Pairs = append(e.Pairs, ExplainedPair(p))
	}
	for _, t := range x.Tokens {
		e.Tokens = append(e.Tokens, ExplainedToken(t))
	}
	for _, d := range x.Dimensions {
		e.Dimensions = append(e.Dimensions, ExplainedDimension(d))
	}
	for _, m := range x.Matches {
		e.Matches = append(e.Matches, ExplainedMatch(m))
	}
	for _, t := range x.Ties {
		e.Ties = append(e.Ties, ExplainedTie(t))
	}
	return e
}
