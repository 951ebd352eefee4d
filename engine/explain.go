package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Explanation tells why a document scores what it scores for a query. All
// contributions are in units of the number they add up to.
type Explanation struct {
	// Hit is the document, or the chunk of it that scores best. Rank is its place
	// among the hits of the search, 0 where it is beyond the candidates that the
	// legs name.
	Hit
	Trace Trace
	// Terms are the summands of Score: Weight·Value each. Fusions by rank or by
	// range are no sums of scores and have none.
	Terms []fusion.Term
	// Words are the distinct words of the query and what each gives to BM25 and
	// coverage; none in ModeDense.
	Words []WordShare
	// Pairs are the query's adjacent word pairs; none in ModeDense.
	Pairs []PairShare
	// Attributed tells that the modulated score could be divided among the tokens
	// of the query (and, in variants that name others, those): Modulated = Plain +
	// Bias + Σ (Scale + Shift) up to rounding, Plain being what the unmodulated
	// query vector gives and Bias what no token has a share in: b of Eq. 8 and
	// whitening. It is false in ModeLexical, and for variants that cannot tell. Without
	// modulation Plain is Modulated.
	Attributed  bool
	Plain, Bias float64
	Tokens      []TokenShare
	// Dimensions are the eight dimensions of the vectors in which modulation moved
	// the score most; none where it moved nothing.
	Dimensions []DimensionShare
	// Matches are the places in title and text where a word of the query stands,
	// in their order; none in ModeDense. Compounds and their parts may overlap.
	Matches []Match
	// Ties are the words of the query with those of the document that answer them, in the query's
	// order, where token states are compared.
	Ties []TokenTie
	// Picture is a PNG, 448 pixels high, where Query.Picture asked for it: the image of the query, if it has one,
	// and beside it the document's, both as the encoder sees them, the patches of the document's as
	// bright as what their words gave to BM25; all bright where none gave anything.
	Picture []byte
}

// WordShare is what one distinct word of the query gives.
type WordShare struct {
	Term       string // as it was analysed: lower-cased, stemmed
	Start, End int    // bytes of the query it was first read from
	Count      int    // times it stands in the document or chunk
	Documents  int    // documents or chunks of the database that have it
	IDF        float64
	BM25       float64 // its part of Hit.BM25
	Coverage   float64 // its part of Hit.Coverage
	Most       float64 // the limit of its part of Coverage, and its part of Hit.Presence if it is found; these add up to 1
}

// PairShare is one pair of adjacent words of the query.
type PairShare struct {
	First, Second string
	Share         float64 // its part of Hit.Pair if it is found; these add up to 1
	Found         bool    // stands adjacent and in this order
}

// TokenShare is what one token adds to the modulated cosine.
type TokenShare struct {
	ID         int32
	Token      string // the vocabulary's entry, else the part of the query
	Start, End int    // bytes of the query it first stands for; 0, 0 for none
	Shift      float64
	Scale      float64
}

// DimensionShare is one dimension's part of the cosine before and after
// modulation.
type DimensionShare struct {
	Dimension     int
	Before, After float64
}

// Match is a word of the query in the document.
type Match struct {
	Field      string // "title" or "text"
	Start, End int    // bytes of the document's title or text
	Term       string
}

// Explain tells why the document with this id scores what it scores for q. Of
// a document in chunks the best chunk is explained. Collapse is not read, and K
// says only how deep the legs look.
// ErrNotFound for an id that is not stored, or one whose document does not meet
// the filter; ErrInvalid for Query.Picture where the document is no image. Cost: that of the search, and the analysis of one text; with Options.Reranker
// that of two searches, and Rank is the document's place behind it.
//
// The additive part of a modulation (RLR) is divided exactly; the product with
// the softmax is not linear in the tokens, and is divided along the straight
// path from no modulation to all of it (modulate.TokenShare).
func (e *Engine) Explain(ctx context.Context, q Query, id string) (Explanation, error) {
	return e.secondStage().explained(ctx, q, id)
}

// explain is Explain without a second stage.
func (e *Engine) explain(ctx context.Context, q Query, id string) (_ Explanation, err error) {
	ctx = promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return Explanation{}, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	t := newTimer()
	if q, err = e.queryImage(ctx, q); err != nil {
		return Explanation{}, err
	}
	r, err := e.begin(ctx, s, q, t)
	if err != nil {
		return Explanation{}, err
	}
	ord, err := find(s, id)
	if err != nil {
		return Explanation{}, err
	}
	if !r.Allows(ord) {
		return Explanation{}, fmt.Errorf("document %q does not meet the filter: %w", fault.Clip(id), ErrNotFound)
	}
	d, err := s.View.Get(ord)
	if err != nil {
		return Explanation{}, missing(err)
	}
	best, rank, err := r.Place(ctx, ord, len(d.Rows))
	if err != nil {
		return Explanation{}, err
	}
	found := []search.Found{{Candidate: best}}
	hits, err := e.join(ctx, s, found, r.In.Dense)
	if err != nil {
		return Explanation{}, err
	}
	if q.Spans {
		if err := e.spans(ctx, r, q.Text, found, hits); err != nil {
			return Explanation{}, err
		}
	}
	x := Explanation{Hit: hits[0], Trace: e.trace(r, t)}
	x.Rank = rank
	x.Terms = r.Plan.Terms(best)
	if r.Plan.Dense {
		if err := explainDense(&x, e.enc, r, q.Text, best, d.Rows[chunk.Number(best.Ord)].Vector); err != nil {
			return Explanation{}, err
		}
	}
	if err := e.explainTies(&x, r, q.Text, best.Ord, d); err != nil {
		return Explanation{}, err
	}
	if r.Plan.Lexical {
		terms := e.db.Terms(nil, q.Text)
		shares, _, err := s.Words.Explain(nil, terms, best.Ord)
		if err != nil {
			return Explanation{}, err
		}
		row := d.Rows[chunk.Number(best.Ord)]
		w := wordFacts{shares, s.Words.UB(terms), s.Words.IDF}
		explainWords(&x, terms, w, d.Title, d.Text[row.Start:row.End], row.Start, func(s string) []text.Term { return e.db.Terms(nil, s) })
	}
	if q.Picture {
		x.Picture, err = e.drawExplanation(q, d, x)
	}
	return x, err
}

// topDimensions is how many dimensions an explanation names.
const topDimensions = 8

// explainDense fills in what the vectors tell. passage is the vector of the
// chunk.
func explainDense(x *Explanation, enc encoder.Encoder, r *search.Run, query string, c fusion.Candidate, passage []float32) error {
	vector, plain, tokens := r.VectorFor(c.Ord), r.In.Dense, r.In.Tokens
	type moved struct {
		DimensionShare
		by float64
	}
	var all []moved
	for i, p := range passage {
		m := moved{DimensionShare: DimensionShare{Dimension: i, Before: float64(plain[i]) * float64(p), After: float64(vector[i]) * float64(p)}}
		if m.by = math.Abs(m.After - m.Before); m.by > 0 {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b moved) int { return cmp.Compare(b.by, a.by) })
	for _, m := range all[:min(len(all), topDimensions)] {
		x.Dimensions = append(x.Dimensions, m.DimensionShare)
	}
	a, whole, err := r.Attribute(c, passage)
	if err != nil {
		return err
	}
	x.Plain, x.Bias, x.Attributed = a.Plain, a.Bias, whole
	for _, share := range a.Tokens {
		t := TokenShare{ID: share.ID, Shift: share.Shift, Scale: share.Scale}
		if n := slices.Index(tokens.IDs, t.ID); n >= 0 && n < len(tokens.Offsets) {
			o := tokens.Offsets[n]
			t.Start, t.End = int(o.Start), int(o.End)
		}
		if t.Token = token(enc, t.ID); t.Token == "" && t.Start < t.End && t.End <= len(query) {
			t.Token = query[t.Start:t.End]
		}
		x.Tokens = append(x.Tokens, t)
	}
	return nil
}

// token is the vocabulary's entry, "" where the encoder does not tell.
func token(enc encoder.Encoder, id int32) string {
	c, _ := enc.(checked)
	if t, ok := c.Encoder.(interface{ Token(int32) string }); ok {
		return t.Token(id)
	}
	return ""
}

// wordFacts are what an index knows of the words of a query in one chunk.
type wordFacts struct {
	shares []inverted.TermScore
	ub     float64
	idf    func(term string) float64
}

// explainWords fills in what the words tell of a chunk with this title and text, which
// begins at byte start of its document's.
func explainWords(x *Explanation, terms []text.Term, w wordFacts, title, body string, start int, analyse func(string) []text.Term) {
	first := map[string]text.Term{}
	for _, t := range terms {
		if _, ok := first[t.Text]; !ok {
			first[t.Text] = t
		}
	}
	for _, t := range w.shares {
		x.Words = append(x.Words, WordShare{
			Term: t.Term, Start: first[t.Term].Start, End: first[t.Term].End,
			Count: t.Count, Documents: t.Documents, IDF: t.IDF,
			BM25: t.Score, Coverage: inverted.Coverage(t.Score, w.ub), Most: inverted.Coverage(t.Most, w.ub),
		})
	}
	// The analysed text is the title, a space and the chunk, trimmed.
	whole := title + " " + body
	trimmed := chunk.Trim(whole, chunk.Span{End: len(whole)})
	lead := trimmed.Start
	passage := analyse(whole[trimmed.Start:trimmed.End])
	for _, p := range inverted.PairShares(terms, passage, w.idf) {
		x.Pairs = append(x.Pairs, PairShare(p))
	}
	for _, t := range passage {
		if _, ok := first[t.Text]; !ok {
			continue
		}
		m := Match{Field: "title", Start: t.Start + lead, End: t.End + lead, Term: t.Text}
		if at := len(title) + 1; m.Start >= at {
			m.Field, m.Start, m.End = "text", m.Start-at+start, m.End-at+start
		}
		x.Matches = append(x.Matches, m)
	}
}
