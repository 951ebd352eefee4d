package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/store"
)

// wholeTokens is the maximum number of query tokens at which the token score has its full
// weight. A long query, such as a passage, is better described by its vector: with more
// tokens the weight falls. Like that of the cosine, it also falls with the share of the
// query that the encoder does not know.
const wholeTokens = 16

// compare prepares the query's token states and their weights.
func (r *Run) compare(tokens *late.Query) {
	f := &r.Plan.Fusion
	if !r.Plan.Tokens || tokens == nil || tokens.Len() == 0 {
		r.Plan.Tokens, f.Tokens = false, -1
		return
	}
	r.late = tokens
	f.Tokens = cmp.Or(f.Tokens, fusion.DefaultTokens)
	f.Tokens *= min(1, wholeTokens/float64(tokens.Len())) * (1 - f.Unknown)
}

// matchTokens gives candidates the score of their tokens. A passage without stored states
// is assumed to match as well as its vector does.
func (r *Run) matchTokens(ctx context.Context, cs []fusion.Candidate) error {
	if r.late == nil {
		return nil
	}
	matches := make([]late.Match, len(cs))
	for i, c := range cs { // those without
		d := max(-1, min(c.Dense, 1))
		matches[i] = late.Match{Whole: d, Near: d, Front: d}
	}
	err := r.S.Codes(ctx, len(cs), func(i int) uint64 { return cs[i].Ord }, func(i int, codes []byte) error {
		c, err := late.Parse(codes)
		if err == nil {
			matches[i], err = r.late.Score(c)
		}
		return unread(err)
	})
	if err != nil {
		return err
	}
	for i, m := range matches {
		cs[i].Tokens = fusion.Answered(m, cs[i].Match)
	}
	r.step("tokens")
	return nil
}

// rescore ranks the candidates of a dense search by cosine and tokens.
func (r *Run) rescore(ctx context.Context, cs []fusion.Candidate) error {
	if r.late == nil {
		return nil
	}
	if err := r.matchTokens(ctx, cs); err != nil {
		return err
	}
	for i := range cs {
		cs[i].Score = cs[i].Dense + r.Plan.Fusion.Tokens*cs[i].Tokens
	}
	fusion.Sort(cs, func(c fusion.Candidate) float64 { return c.Score })
	return nil
}

// Ties returns for each token of the query the token of a passage that matches it; nil if
// tokens are not compared.
func (r *Run) Ties(id uint64) ([]late.Tie, error) { return r.tied(nil, id, (*late.Query).Ties) }

// Cosines appends the candidates of Ties to dst.
func (r *Run) Cosines(dst []late.Tie, id uint64) ([]late.Tie, error) {
	return r.tied(dst, id, (*late.Query).Cosines)
}

func (r *Run) tied(dst []late.Tie, id uint64, by func(*late.Query, []late.Tie, late.Codes) ([]late.Tie, error)) (_ []late.Tie, err error) {
	if r.late == nil {
		return dst, nil
	}
	err = r.S.Codes(context.Background(), 1, func(int) uint64 { return id }, func(_ int, codes []byte) error {
		c, err := late.Parse(codes)
		if err == nil {
			dst, err = by(r.late, dst, c)
		}
		return unread(err)
	})
	return dst, err
}

// unread turns codes that cannot be read into damage.
func unread(err error) error {
	if errors.Is(err, late.ErrCodes) || errors.Is(err, late.ErrBasis) {
		return fmt.Errorf("%w: stored token states: %w", store.ErrCorrupt, err)
	}
	return err
}
