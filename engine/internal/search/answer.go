package search

import (
	"strings"
	"time"
)

// Hit has the same fields as engine.Hit, which documents them.
type Hit struct {
	ID                                                                              string
	Rank                                                                            int
	Score, Probability                                                              float32
	Rerank                                                                          float64
	Reranked                                                                        bool
	Cosine, Modulated, BM25, Coverage, Presence, Near, Pair, TitleMatch, TokenScore float32
	Title, Symbol, Media, Text                                                      string
	Chunk, Chunks, Start, End                                                       int
	Lines, Span, SpanLines                                                          [2]int
	Places                                                                          Places
	Metadata                                                                        map[string]any
	Duplicates                                                                      []string
}

// Passage is the part of a document that a hit shows.
type Passage struct {
	ID, Title, Media string
	Text             string // of the chunk
	Metadata         map[string]any
	Chunk, Chunks    int
	Start            int // of Text in the document's
	Line             int // first one of the document's text, from 1, that Text covers
}

// Hit converts f, which r has found, to a hit, without a rank; the ids of its duplicates are still missing.
// cosine is that of the unmodulated query, or 0 without a query vector.
func (f Found) Hit(r *Run, p Passage, cosine float32) Hit {
	return Hit{
		ID: p.ID, Score: float32(f.Score), Probability: float32(f.likely(r, p)), Cosine: cosine, Modulated: float32(f.Dense),
		BM25: float32(f.BM25), Coverage: float32(f.Coverage), Presence: float32(f.Presence), Near: float32(f.Near), Pair: float32(f.Pair), TitleMatch: float32(f.Title), TokenScore: float32(f.Tokens),
		Title: p.Title, Media: p.Media, Text: p.Text, Metadata: p.Metadata,
		Chunk: p.Chunk, Chunks: p.Chunks, Start: p.Start, End: p.Start + len(p.Text),
		Lines: [2]int{p.Line, p.Line + strings.Count(p.Text[:max(0, len(p.Text)-1)], "\n")},
	}
}

// Timer collects the steps of a trace.
type Timer struct {
	Steps []Step
	last  time.Time
}

// Step has the same fields as engine.Step, which documents them.
type Step struct {
	Name string
	Took time.Duration
}

// NewTimer begins the first step.
func NewTimer() *Timer { return &Timer{last: time.Now(), Steps: make([]Step, 0, 8)} }

// Resume begins a step now, whatever went before.
func (t *Timer) Resume() { t.last = time.Now() }

// Done ends a step, and begins the next.
func (t *Timer) Done(name string) {
	now := time.Now()
	took := now.Sub(t.last)
	t.last = now
	for i := range t.Steps { // a step that was taken before, when the search looks deeper
		if t.Steps[i].Name == name {
			t.Steps[i].Took += took
			return
		}
	}
	t.Steps = append(t.Steps, Step{name, took})
}
