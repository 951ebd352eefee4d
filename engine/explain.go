package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image/png"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/visual"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/store"
)

// Explanation shows how the score of a document for a query is made up. Contributions add up to the number that they
// explain.
type Explanation struct {
	// Hit is the document, or its best chunk. Rank is its place among the search's hits; 0 if no retriever named it as
	// a candidate.
	Hit
	Trace Trace  // of the search
	For   string // the repaired query, as in Result; Words has both the mistyped word and the one that was searched for too
	// Terms add up to Score, each with Weight·Value. Fusion by rank or by range has no
	// terms.
	Terms []fusion.Term
	// Words are the distinct words of the query with their parts of BM25 and Coverage; empty in
	// ModeDense.
	Words []explain.Word
	// Pairs are the adjacent word pairs of the query; empty in ModeDense.
	Pairs []explain.Pair
	// Attributed says that Tokens explain Modulated: Modulated = Plain + Bias + Σ (Scale + Shift), up to rounding. It
	// is false in ModeLexical, and for variants that have no such parts.
	Attributed  bool
	Plain, Bias float64         // Plain is the score of the plain query vector; Bias belongs to no token: b of Eq. 8, and whitening
	Tokens      []explain.Token // parts of the query's tokens, and of other tokens in variants that use some
	// Dimensions are the eight vector dimensions in which modulation changed the score most; empty if nothing
	// changed.
	Dimensions []explain.Dimension
	// Matches are the positions of the query's words in title and text, in order; empty in ModeDense. Compounds and
	// their parts may overlap.
	Matches []explain.Match
	// Ties are the token alignment, in the query's order: each word of the query with the document's word that matches
	// it best. It is empty if token states are not compared.
	Ties []explain.Tie
	// Picture is a PNG, 448 pixels high, if Query.Picture is set: the query's image, if any, next to the document's, as
	// the encoder sees them. A brighter patch gave more to BM25; all patches are bright if none gave anything.
	Picture []byte
}

// Explain shows how the score of the document with this id for q is made up. If the document has several chunks, it
// explains the best one. Collapse is ignored, and K only sets the number of candidates of the retrievers.
//
// RLR's additive part is divided among the tokens exactly. The softmax product is not linear in the tokens; it is
// divided along the straight path from no modulation to full modulation (modulate.TokenShare).
//
// Errors: ErrNotFound for an id that is not stored or does not match the filter; ErrInvalid for Query.Picture if the
// document is no image. Cost: one search and the analysis of one text; two searches with Options.Reranker, and Rank is
// then the place after reranking.
func (e *Engine) Explain(ctx context.Context, q Query, id string) (Explanation, error) {
	return e.secondStage().explained(ctx, q, id, e.explain, e.search)
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
	if q, err = e.queryVector(ctx, s, q); err != nil {
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
		return Explanation{}, fmt.Errorf("document %q does not meet the filter, or the operators of the query: %w", fault.Clip(id), ErrNotFound)
	}
	d, err := s.View.Get(ctx, ord)
	if err != nil {
		return Explanation{}, state.Missing(err)
	}
	placed, rank, err := r.Place(ctx, ord, len(d.Rows))
	if err != nil {
		return Explanation{}, err
	}
	best, found := placed.Candidate, []search.Found{placed}
	hits, err := e.join(ctx, r, found)
	if err != nil {
		return Explanation{}, err
	}
	if q.Spans {
		if err := e.spans(ctx, r, found, hits); err != nil {
			return Explanation{}, err
		}
	}
	if err := e.symbols(ctx, s, found, hits); err != nil {
		return Explanation{}, err
	}
	x := Explanation{Hit: hits[0], Trace: e.trace(r, t), For: r.For()}
	x.Rank = rank
	x.Terms = r.Summands(best)
	if vector := d.Rows[chunk.Number(best.Ord)].Vector; r.Plan.Dense && vector != nil {
		shares, err := r.Shares(best, vector, func(id int32) string { return intake.Token(e.enc, id) })
		if err != nil {
			return Explanation{}, err
		}
		x.Plain, x.Bias, x.Attributed, x.Tokens, x.Dimensions = shares.Plain, shares.Bias, shares.Attributed, shares.Tokens, shares.Dimensions
	}
	if err := e.explainTies(ctx, &x, r, r.Q.Text, best.Ord, d); err != nil {
		return Explanation{}, err
	}
	if r.Plan.Lexical {
		terms := r.Terms
		scores, _, err := s.Words.Explain(nil, terms, best.Ord)
		if err != nil {
			return Explanation{}, err
		}
		row := d.Rows[chunk.Number(best.Ord)]
		var ended error
		l := search.Lexicon{Scores: scores, UB: s.Words.UB(terms), IDF: s.Words.IDF, Analyse: func(passage string) (found []text.Term) {
			found, ended = yield.Leave(ctx, func() ([]text.Term, error) { return e.analyse(passage), nil })
			return found
		}}
		x.Words, x.Pairs, x.Matches = l.Words(terms, d.Title, d.Text[row.Start:row.End], row.Start)
		if ended != nil {
			return Explanation{}, ended
		}
	}
	if q.Picture {
		x.Picture, err = e.drawExplanation(q, d, x)
	}
	return x, err
}

// pictureHeight is the height of Explanation.Picture in pixels.
const pictureHeight = 448

// drawExplanation draws the image of the query, if any, and that of the document, with patches as bright as the
// contributions of their words.
func (e *Engine) drawExplanation(q Query, d *store.Document, x Explanation) ([]byte, error) {
	if e.images == nil || !isImage(d) {
		return nil, fmt.Errorf("%w: a picture of an explanation, and the document is no image of a database of images; ask without Picture", ErrInvalid)
	}
	found, err := e.images.words.View(d.Data)
	if err != nil {
		return nil, fmt.Errorf("drawing the explanation: %w", err)
	}
	grid := e.fp.Grid
	if weights := patchWeights(x, grid[0]*grid[1]); weights != nil {
		found = found.Weigh(grid[0], grid[1], weights)
	}
	seen := []*picture.Image{found}
	if q.Image != nil {
		asked, err := e.images.words.View(q.Image)
		if err != nil {
			return nil, fmt.Errorf("%w: the query: %w", ErrInvalid, err)
		}
		seen = []*picture.Image{asked, found}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture.Beside(pictureHeight, seen...)); err != nil {
		return nil, fmt.Errorf("drawing the explanation: %w", err)
	}
	return b.Bytes(), nil
}

// patchWeights are the contributions of the patches of an image to its score: each word's part of BM25, divided
// among the patches with that word. It is nil if no patch contributes.
func patchWeights(x Explanation, patches int) []float64 {
	give := map[string]float64{}
	for _, w := range x.Words {
		give[w.Term] = w.BM25 / float64(max(1, w.Count))
	}
	var weights []float64
	for _, m := range x.Matches {
		if p := visual.Patch(m.Start); m.Field == "text" && p < patches && give[m.Term] > 0 {
			if weights == nil {
				weights = make([]float64, patches)
			}
			weights[p] += give[m.Term]
		}
	}
	return weights
}

// explainTies fills in the token alignment. A word of several tokens gets their mean, and the
// match of the token that contributes most.
func (e *Engine) explainTies(ctx context.Context, x *Explanation, r *search.Run, query string, id uint64, d *store.Document) error {
	ties, err := r.Ties(id)
	if err != nil || len(ties) == 0 || e.terms != nil {
		return err
	}
	row := d.Rows[chunk.Number(id)]
	passage, lead, body := e.encodedOf(d.Title, d.Text[row.Start:row.End], len(d.Rows))
	asked := r.In.Tokens
	all, err := r.Cosines(nil, id)
	if err != nil || len(all) == 0 {
		return err
	}
	kept, _, err := e.codedSpans(ctx, passage, search.StoredSource(d.Metadata), all[len(all)-1].To)
	if err != nil {
		return err
	}
	type word struct {
		explain.Tie
		most float64
	}
	var words []word
	for _, tie := range ties {
		if tie.Query >= len(asked.Offsets) || tie.To > len(kept) || tie.From >= tie.To {
			return nil // another tokenizer than that of the codes
		}
		of := wordAt(query, asked.Offsets[tie.Query])
		i := slices.IndexFunc(words, func(w word) bool { return w.Start == of.Start && w.End == of.End })
		if i < 0 {
			i = len(words)
			words = append(words, word{Tie: explain.Tie{Word: query[of.Start:of.End], Start: of.Start, End: of.End}, most: -2})
		}
		w := &words[i]
		w.Weight += tie.Weight
		w.Cosine += tie.Weight * tie.Cosine
		if gives := tie.Weight * tie.Cosine; gives > w.most {
			w.most = gives
			in := wordAt(passage, kept[tie.From])
			w.Match = passage[in.Start:in.End]
			if in.Start >= body {
				w.Field, w.MatchStart, w.MatchEnd = "text", in.Start-body+row.Start, in.End-body+row.Start
			} else {
				w.Field, w.MatchStart, w.MatchEnd = "title", in.Start+lead, in.End+lead
			}
		}
	}
	for _, w := range words {
		if w.Weight > 0 {
			w.Cosine /= w.Weight
		}
		x.Ties = append(x.Ties, w.Tie)
	}
	slices.SortStableFunc(x.Ties, func(a, b explain.Tie) int { return cmp.Compare(a.Start, b.Start) })
	return nil
}

// wordAt is the word around a token: it extends over letters and digits on both sides.
func wordAt(s string, o encoder.Span) chunk.Span {
	w := chunk.Span{Start: min(max(0, int(o.Start)), len(s)), End: min(max(0, int(o.End)), len(s))}
	w.End = max(w.Start, w.End)
	inside := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
	if first, _ := utf8.DecodeRuneInString(s[w.Start:w.End]); inside(first) {
		for w.Start > 0 {
			r, n := utf8.DecodeLastRuneInString(s[:w.Start])
			if !inside(r) {
				break
			}
			w.Start -= n
		}
	}
	if last, _ := utf8.DecodeLastRuneInString(s[w.Start:w.End]); inside(last) {
		for w.End < len(s) {
			r, n := utf8.DecodeRuneInString(s[w.End:])
			if !inside(r) {
				break
			}
			w.End += n
		}
	}
	return w
}
