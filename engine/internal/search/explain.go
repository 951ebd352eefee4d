package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// topDimensions is the number of dimensions that an explanation lists.
const topDimensions = 8

// Shares divide the modulated score of a candidate, as described at engine.Explanation.
type Shares struct {
	Plain, Bias float64
	Attributed  bool
	Tokens      []explain.Token
	Dimensions  []explain.Dimension
}

// Shares divides the score of a candidate with the vector passage. token is the vocabulary
// entry of a token, "" if unknown.
func (r *Run) Shares(c fusion.Candidate, passage []float32, token func(id int32) string) (x Shares, err error) {
	x.Dimensions = moved(r.In.Dense, r.VectorFor(c.Ord), passage)
	a, whole, err := r.Attribute(c, passage)
	if err != nil {
		return x, err
	}
	x.Plain, x.Bias, x.Attributed = a.Plain, a.Bias, whole
	query, tokens := r.Q.Text, r.In.Tokens
	for _, share := range a.Tokens {
		t := explain.Token{ID: share.ID, Shift: share.Shift, Scale: share.Scale}
		if n := slices.Index(tokens.IDs, t.ID); n >= 0 && n < len(tokens.Offsets) {
			o := tokens.Offsets[n]
			t.Start, t.End = int(o.Start), int(o.End)
		}
		if t.Token = token(t.ID); t.Token == "" && t.Start < t.End && t.End <= len(query) {
			t.Token = query[t.Start:t.End]
		}
		x.Tokens = append(x.Tokens, t)
	}
	return x, nil
}

// moved returns the dimensions in which modulation changed the score most.
func moved(plain, vector, passage []float32) (top []explain.Dimension) {
	type change struct {
		explain.Dimension
		by float64
	}
	var all []change
	for i, p := range passage {
		m := change{Dimension: explain.Dimension{Dimension: i, Before: float64(plain[i]) * float64(p), After: float64(vector[i]) * float64(p)}}
		if m.by = math.Abs(m.After - m.Before); m.by > 0 {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(b.by, a.by) })
	for _, m := range all[:min(len(all), topDimensions)] {
		top = append(top, m.Dimension)
	}
	return top
}

// Lexicon holds the word statistics of one chunk for a query, and the analysis of texts.
type Lexicon struct {
	Scores  []inverted.TermScore
	UB      float64 // the limit of BM25
	IDF     func(term string) float64
	Analyse func(text string) []text.Term
}

// Words computes the contributions of a query's words to a chunk with this title and text,
// which starts at byte start of its document: the words, their adjacent pairs, and their
// positions in the document.
func (l Lexicon) Words(terms []text.Term, title, body string, start int) (words []explain.Word, pairs []explain.Pair, matches []explain.Match) {
	first := map[string]text.Term{}
	for _, t := range terms {
		if _, ok := first[t.Text]; !ok {
			first[t.Text] = t
		}
	}
	for _, t := range l.Scores {
		words = append(words, explain.Word{
			Term: text.Shown(t.Term), Start: first[t.Term].Start, End: first[t.Term].End,
			Count: t.Count, Documents: t.Documents, IDF: t.IDF,
			BM25: t.Score, Coverage: inverted.Coverage(t.Score, l.UB), Most: inverted.Coverage(t.Most, l.UB),
		})
	}
	// The analysed text is the title, a space and the chunk, trimmed.
	whole := title + " " + body
	trimmed := chunk.Trim(whole, chunk.Span{End: len(whole)})
	lead := trimmed.Start
	passage := l.Analyse(whole[trimmed.Start:trimmed.End])
	for _, p := range inverted.PairShares(terms, passage, l.IDF) {
		pairs = append(pairs, explain.Pair(p))
	}
	for _, t := range passage {
		if _, ok := first[t.Text]; !ok {
			continue
		}
		m := explain.Match{Field: "title", Start: t.Start + lead, End: t.End + lead, Term: t.Text}
		if at := len(title) + 1; m.Start >= at {
			m.Field, m.Start, m.End = "text", m.Start-at+start, m.End-at+start
		}
		matches = append(matches, m)
	}
	return words, pairs, matches
}
