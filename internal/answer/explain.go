package answer

import (
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/fusion"
)

// Explanation shows how the score of a document for a query is made up. The fields have the meanings of
// engine.Explanation.
type Explanation struct {
	Query      string              `json:"query"`
	For        string              `json:"for,omitempty"` // the query with its mistyped words repaired, which was searched for too
	Mode       string              `json:"mode"`
	Variant    string              `json:"variant"`
	ID         string              `json:"id"`
	Title      string              `json:"title"`
	Rank       int                 `json:"rank"`
	Chunk      int                 `json:"chunk"`
	Chunks     int                 `json:"chunks"`
	Start      int                 `json:"start"`
	End        int                 `json:"end"`
	Score      float32             `json:"score"`
	Cosine     float32             `json:"cosine"`
	Modulated  float32             `json:"modulated"`
	BM25       float32             `json:"bm25"`
	Coverage   float32             `json:"coverage"`
	Presence   float32             `json:"presence"`
	Near       float32             `json:"near"`
	Pair       float32             `json:"pair"`
	TitleMatch float32             `json:"title_match"`
	Terms      []fusion.Term       `json:"terms"`
	Words      []explain.Word      `json:"words"`
	Pairs      []explain.Pair      `json:"pairs"`
	Attributed bool                `json:"attributed"`
	Plain      float64             `json:"plain"`
	Bias       float64             `json:"bias"`
	Tokens     []explain.Token     `json:"tokens"`
	Dimensions []explain.Dimension `json:"dimensions"`
	Matches    []explain.Match     `json:"matches"`
	TokenScore float32             `json:"token_score"`
	Ties       []explain.Tie       `json:"ties"`

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

// NewExplanation returns the JSON form of an explanation.
func NewExplanation(query string, x engine.Explanation) Explanation {
	return Explanation{ // with no list null
		Query: query, For: x.For, Mode: x.Trace.Mode, Variant: x.Trace.Variant, ID: x.ID, Title: x.Title, Rank: x.Rank,
		Chunk: x.Chunk, Chunks: x.Chunks, Start: x.Start, End: x.End,
		Score: x.Score, Probability: x.Probability, Cosine: x.Cosine, Modulated: x.Modulated, BM25: x.BM25, Coverage: x.Coverage, Presence: x.Presence, Near: x.Near, Pair: x.Pair, TitleMatch: x.TitleMatch,
		Terms: append([]fusion.Term{}, x.Terms...), Words: append([]explain.Word{}, x.Words...), Pairs: append([]explain.Pair{}, x.Pairs...),
		Attributed: x.Attributed, Plain: x.Plain, Bias: x.Bias,
		Tokens: append([]explain.Token{}, x.Tokens...), Dimensions: append([]explain.Dimension{}, x.Dimensions...), Matches: append([]explain.Match{}, x.Matches...),
		TokenScore: x.TokenScore, Ties: append([]explain.Tie{}, x.Ties...),
		Symbol: x.Symbol, Span: spanOf(x.Hit), Rerank: rerankOf(x.Hit), Reranked: x.Trace.Reranked, Required: x.Trace.Required, Excluded: x.Trace.Excluded, Unmet: x.Trace.Unmet, Waiting: x.Trace.Waiting, Passages: x.Trace.Passages, Picture: x.Picture, Stale: x.Trace.Stale, BridgeOf: x.Trace.BridgeOf,
	}
}
