package search

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/index/late"
	"github.com/lexsem/lexsem/store"
)

// wholeTokens is how many tokens a query has at most for the tokens to have their full
// weight. A query that is a passage itself asks for what it is about, which its vector
// tells better: the weight falls as their number grows beyond, and, as that of the
// cosine, by the share of the query that the encoder does not know.
const wholeTokens = 16

// compare makes the query's token states ready, and gives them their weight.
func (r *Run) compare(tokens *late.Query) {
	f := &r.Plan.Fusion
	if !r.Plan.Tokens || tokens == nil || tokens.Len() == 0 {
		r.Plan.Tokens, f.Tokens = false, -1
		return
	}
	r.late = tokens
	if f.Tokens == 0 {
		f.Tokens = fusion.DefaultTokens
	}
	f.Tokens *= min(1, wholeTokens/float64(tokens.Len())) * (1 - f.Unknown)
}

// matchTokens gives candidates the score of their tokens. A passage whose states are not
// kept is taken to match as its vector does.
func (r *Run) matchTokens(ctx context.Context, cs []fusion.Candidate) error {
	if r.late == nil {
		return nil
	}
	scores := make([]float64, len(cs))
	for i := range scores {
		scores[i] = math.NaN() // of those without
	}
	err := r.S.Codes(ctx, len(cs), func(i int) uint64 { return cs[i].Ord }, func(i int, codes []byte) error {
		c, err := late.Parse(codes)
		if err == nil {
			scores[i], err = r.late.Score(c)
		}
		return unread(err)
	})
	if err != nil {
		return err
	}
	for i, s := range scores {
		if math.IsNaN(s) {
			s = max(-1, min(cs[i].Dense, 1))
		}
		cs[i].Tokens = fusion.Answered(s, cs[i].Presence)
	}
	r.step("tokens")
	return nil
}

// rescore ranks what the dense leg alone has named by its cosine and its tokens.
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

// Ties tells for each token of the query which token of a passage answers it, nil where
// they are not compared.
func (r *Run) Ties(id uint64) ([]late.Tie, error) { return r.tied(nil, id, (*late.Query).Ties) }

// Cosines appends to dst all that Ties chooses from.
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

// unread makes damage of codes that cannot be read.
func unread(err error) error {
	if errors.Is(err, late.ErrCodes) || errors.Is(err, late.ErrBasis) {
		return fmt.Errorf("%w: stored token states: %w", store.ErrCorrupt, err)
	}
	return err
}
