package engine

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
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
	Words []explain.Word
	// Pairs are the query's adjacent word pairs; none in ModeDense.
	Pairs []explain.Pair
	// Attributed tells that the modulated score could be divided among the tokens
	// of the query (and, in variants that name others, those): Modulated = Plain +
	// Bias + Σ (Scale + Shift) up to rounding, Plain being what the unmodulated
	// query vector gives and Bias what no token has a share in: b of Eq. 8 and
	// whitening. It is false in ModeLexical, and for variants that cannot tell. Without
	// modulation Plain is Modulated.
	Attributed  bool
	Plain, Bias float64
	Tokens      []explain.Token
	// Dimensions are the eight dimensions of the vectors in which modulation moved
	// the score most; none where it moved nothing.
	Dimensions []explain.Dimension
	// Matches are the places in title and text where a word of the query stands,
	// in their order; none in ModeDense. Compounds and their parts may overlap.
	Matches []explain.Match
	// Ties are the words of the query with those of the document that answer them, in the query's
	// order, where token states are compared.
	Ties []explain.Tie
	// Picture is a PNG, 448 pixels high, where Query.Picture asked for it: the image of the query, if it has one,
	// and beside it the document's, both as the encoder sees them, the patches of the document's as
	// bright as what their words gave to BM25; all bright where none gave anything.
	Picture []byte
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
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return Explanation{}, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	t := search.NewTimer()
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
		shares, err := r.Shares(best, d.Rows[chunk.Number(best.Ord)].Vector, func(id int32) string { return intake.Token(e.enc, id) })
		if err != nil {
			return Explanation{}, err
		}
		x.Plain, x.Bias, x.Attributed, x.Tokens, x.Dimensions = shares.Plain, shares.Bias, shares.Attributed, shares.Tokens, shares.Dimensions
	}
	if err := e.explainTies(&x, r, q.Text, best.Ord, d); err != nil {
		return Explanation{}, err
	}
	if r.Plan.Lexical {
		terms := e.db.Terms(nil, q.Text)
		scores, _, err := s.Words.Explain(nil, terms, best.Ord)
		if err != nil {
			return Explanation{}, err
		}
		row := d.Rows[chunk.Number(best.Ord)]
		l := search.Lexicon{Scores: scores, UB: s.Words.UB(terms), IDF: s.Words.IDF, Analyse: func(s string) []text.Term { return e.db.Terms(nil, s) }}
		x.Words, x.Pairs, x.Matches = l.Words(terms, d.Title, d.Text[row.Start:row.End], row.Start)
	}
	if q.Picture {
		x.Picture, err = e.drawExplanation(q, d, x)
	}
	return x, err
}
