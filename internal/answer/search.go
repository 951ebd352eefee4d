// Package answer defines the JSON of answers for the command line and the HTTP server: hits, explanations,
// statistics. Start with [NewSearch], [NewExplanation] or [NewStats]. Users rely on the names of fields:
// fields may be added, but never renamed.
package answer

import (
	"slices"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/relevance"
)

// Search is the answer to one query.
type Search struct {
	QueryID string  `json:"query_id,omitempty"` // in a file of queries
	Query   string  `json:"query"`
	For     string  `json:"for,omitempty"` // the query with its mistyped words repaired, which was searched for too
	Mode    string  `json:"mode"`          // the mode that was used, never "auto"
	Variant string  `json:"variant"`       // the modulation that was applied; "none" if there was none
	TookMS  float64 `json:"took_ms"`
	Hits    []Hit   `json:"hits"`

	Required []string `json:"required,omitempty"` // what the operators of the query require
	Excluded []string `json:"excluded,omitempty"` // and what they exclude, without their signs
	Unmet    []string `json:"unmet,omitempty"`    // phrases in quotes that no document has; they were not required

	Waiting  int `json:"waiting,omitempty"`  // passages that have no vector yet
	Passages int `json:"passages,omitempty"` // of so many; both are 0 if all have one

	Reranked int    `json:"reranked,omitempty"`  // hits that the reranker read
	Stale    int    `json:"stale,omitempty"`     // passages that RLR's factor does not fully include; 0 if RLR did not modulate the query
	BridgeOf string `json:"bridge_of,omitempty"` // the filter for whose passages the bridge was made that this query used
}

// Hit is one document that was found, or one chunk of it. The fields have the meanings of engine.Hit:
// Coverage is normalised BM25, Presence is term recall, Pair is bigram match.
type Hit struct {
	ID          string         `json:"id"`
	Score       float32        `json:"score"`
	Probability float32        `json:"probability,omitempty"` // that it is relevant; absent if not known
	Cosine      float32        `json:"cosine"`
	Coverage    float32        `json:"coverage"`
	Rank        int            `json:"rank"`
	Title       string         `json:"title,omitempty"`
	Text        string         `json:"text"`
	Media       string         `json:"media,omitempty"` // of an image; its text holds its visual words
	Metadata    map[string]any `json:"metadata,omitempty"`

	TokenScore float32  `json:"token_score,omitempty"` // if token states were compared
	Presence   float32  `json:"presence"`
	Pair       float32  `json:"pair"`
	Chunk      int      `json:"chunk"`
	Chunks     int      `json:"chunks"`
	Start      int      `json:"start"`
	End        int      `json:"end"`
	Path       string   `json:"path,omitempty"`   // of the file from which the document came
	Lines      []int    `json:"lines,omitempty"`  // of that file: the first and the last
	Symbol     string   `json:"symbol,omitempty"` // the function or type of source code in which the hit lies, or the page, row or headings of other files
	Span       *Span    `json:"span,omitempty"`   // the part of text that answers best, if requested and known
	Places     []Place  `json:"places,omitempty"` // the lines that have what a query for places looks for
	Duplicates []string `json:"duplicates,omitempty"`
	Rerank     *float64 `json:"rerank,omitempty"` // the reranker's score, of hits that it read
}

// Span is a part of a hit's text: bytes Start to End of the document's text. FirstLine and LastLine are
// lines of the file at Path, or of the document's text if there is no file; 0 if the kind of file has
// no lines.
type Span struct {
	Start     int `json:"start"`
	End       int `json:"end"`
	FirstLine int `json:"first_line,omitempty"`
	LastLine  int `json:"last_line,omitempty"`
}

// Place is a line of the file at Path, or of the document's text if there is no file; Line is 0 if the kind of file has no
// lines.
type Place struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// NewSearch returns the JSON form of res, the result of query, which took the time took.
func NewSearch(query string, res engine.Result, took time.Duration) Search {
	s := Search{Query: query, For: res.For, Mode: res.Trace.Mode, Variant: res.Trace.Variant, TookMS: float64(took.Microseconds()) / 1000, Hits: make([]Hit, len(res.Hits)),
		Required: res.Trace.Required, Excluded: res.Trace.Excluded, Unmet: res.Trace.Unmet, Waiting: res.Trace.Waiting, Passages: res.Trace.Passages, Reranked: res.Trace.Reranked, Stale: res.Trace.Stale, BridgeOf: res.Trace.BridgeOf}
	for i, h := range res.Hits {
		s.Hits[i] = NewHit(h)
	}
	return s
}

// Unlikely reports whether the subject of the query is probably not covered: no hit of a first page is
// likely to be relevant.
func Unlikely(hits []engine.Hit) bool {
	for _, h := range hits {
		if h.Probability == 0 || h.Probability >= relevance.Unlikely {
			return false
		}
	}
	return len(hits) > 0 && hits[0].Rank == 1
}

// MorePassages reports whether there are fewer hits than were asked for, since each document is one hit, and some have more
// passages.
func MorePassages(q engine.Query, hits []engine.Hit) bool {
	return !q.PerChunk && !q.Places && q.GroupBy == "" && len(hits) < q.K && slices.ContainsFunc(hits, func(h engine.Hit) bool { return h.Chunks > 1 })
}

// NewHit returns the JSON form of a hit.
func NewHit(h engine.Hit) Hit {
	a := Hit{
		ID: h.ID, Score: h.Score, Probability: h.Probability, Cosine: h.Cosine, Coverage: h.Coverage, Rank: h.Rank,
		Title: h.Title, Text: h.Text, Media: h.Media, Metadata: h.Metadata, TokenScore: h.TokenScore, Presence: h.Presence, Pair: h.Pair,
		Chunk: h.Chunk, Chunks: h.Chunks, Start: h.Start, End: h.End, Symbol: h.Symbol, Duplicates: h.Duplicates, Rerank: rerankOf(h),
	}
	if path, lines, ok := location.Of(h); ok {
		if a.Path = path; lines[0] > 0 {
			a.Lines = lines[:]
		}
	}
	a.Span = spanOf(h)
	for _, p := range h.Places {
		line := p.Line
		if _, of, ok := location.OfLine(h, line); ok {
			line = of
		}
		a.Places = append(a.Places, Place{line, p.Text})
	}
	return a
}

// spanOf is the span of a hit, nil if it has none.
func spanOf(h engine.Hit) *Span {
	if h.Span[1] == 0 {
		return nil
	}
	lines := h.SpanLines
	if _, of, ok := location.OfSpan(h); ok {
		lines = of
	}
	return &Span{Start: h.Span[0], End: h.Span[1], FirstLine: lines[0], LastLine: lines[1]}
}

// rerankOf is the reranker's score of a hit, nil if it has none.
func rerankOf(h engine.Hit) *float64 {
	if !h.Reranked {
		return nil
	}
	return &h.Rerank
}

// Document is a stored document.
type Document struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Text     string         `json:"text"`
	Media    string         `json:"media,omitempty"` // of an image
	Metadata map[string]any `json:"metadata,omitempty"`

	WordsFirst bool `json:"words_first,omitempty"` // its vectors are not made yet
}

// NewDocument returns the JSON form of a document.
func NewDocument(d engine.Document) Document {
	return Document{ID: d.ID, Title: d.Title, Text: d.Text, Media: d.Media, Metadata: d.Metadata, WordsFirst: d.WordsFirst}
}
