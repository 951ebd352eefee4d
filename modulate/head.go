package modulate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/ridge"
)

// Head is a linear layer from a vector x to scores of tokens, a_t = U_t·x + b_t: U and b of Eq. 6,
// or the head of Eq. 7. Only some tokens have a row.
type Head struct {
	// Tokens are the token ids of the rows, ascending. nil means one row for all tokens.
	Tokens []int32
	// U are the rows [Rows × d], B their biases [Rows].
	U, B []float32
	// Near lists for each row the k rows that are scored at its token, including itself: [Rows ×
	// k]. nil if the variant has no neighbours.
	Near []int32
}

// Rows is the number of rows.
func (h *Head) Rows() int { return len(h.B) }

// row returns the row of token id, or −1 if it has none.
func (h *Head) row(id int32) int {
	if i, ok := slices.BinarySearch(h.Tokens, id); ok {
		return i
	}
	return -1
}

// near returns the rows that are scored at a position whose token has row r.
func (h *Head) near(r int) []int32 {
	k := len(h.Near) / len(h.B)
	return h.Near[r*k : (r+1)*k]
}

// check returns an error if the slices do not form a head for vectors of length dim over a
// vocabulary of vocab tokens.
func (h *Head) check(dim, vocab int) error {
	n := len(h.B)
	bad := func(what string) error {
		return fmt.Errorf("%w: head with %s; fit again", ErrOptions, what)
	}
	switch {
	case n == 0 || len(h.U) != n*dim:
		return bad(fmt.Sprintf("%d numbers for %d rows of %d", len(h.U), n, dim))
	case h.Tokens == nil && n != 1 || h.Tokens != nil && len(h.Tokens) != n:
		return bad(fmt.Sprintf("%d tokens for %d rows", len(h.Tokens), n))
	case len(h.Near)%n != 0:
		return bad(fmt.Sprintf("%d neighbours for %d rows", len(h.Near), n))
	case !bounded(h.U) || !bounded(h.B):
		return bad("numbers that are not finite, or beyond ±1e9")
	}
	last := int32(-1)
	for _, t := range h.Tokens {
		if t <= last || int(t) >= vocab {
			return bad(fmt.Sprintf("token %d out of order or range", t))
		}
		last = t
	}
	for _, r := range h.Near {
		if r < 0 || int(r) >= n {
			return bad(fmt.Sprintf("neighbour %d of %d rows", r, n))
		}
	}
	return nil
}

// bounded reports whether numbers of a head are finite and within ±1e9, so that no weight of a token is infinite.
func bounded(x []float32) bool {
	for _, x := range x {
		if !(x >= -1e9 && x <= 1e9) {
			return false
		}
	}
	return true
}

// headOptions say which tokens have a row in a closed-form head.
type headOptions struct {
	// Lambda is the ridge, in [1e-6, 1e9]; 0 means 1.
	Lambda float64
	// MinDF is the least number of passages with the token, at least 1. MaxShare is the largest share
	// of all passages with it, in (0, 1].
	MinDF    int
	MaxShare float64
	// MaxRows limits the rows to the tokens of most passages; 0 means no limit.
	MaxRows int
}

// newHead returns the closed-form head, the ridge regression of "the passage has token t" on the
// passage vector (ridge.Sums.Regress), with A = XᵀX + λI of the centred vectors:
//
//	a_t(x) = (x − μ)ᵀ A⁻¹ (s_t − df_t μ) + df_t/N
//
// It estimates the probability that a passage with vector x has t. ErrOptions for options out of
// range, ErrNotFitted if no token gets a row. Cost O(rows·d²), the summing of the tokens' vectors,
// and a new factor if s has another ridge or is stale.
func newHead(s *ridge.Sums, o headOptions) (*Head, error) {
	lambda, err := ridge.Lambda(o.Lambda)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	if o.MinDF < 1 || !(o.MaxShare > 0 && o.MaxShare <= 1) || o.MaxRows < 0 {
		return nil, fmt.Errorf("%w: head with %+v; the least df is from 1, the largest share in (0, 1], rows from 0", ErrOptions, o)
	}
	h := &Head{}
	for t := range s.VocabSize() {
		if df := s.DF(int32(t)); df >= o.MinDF && float64(df) <= o.MaxShare*float64(s.Len()) {
			h.Tokens = append(h.Tokens, int32(t))
		}
	}
	if len(h.Tokens) == 0 {
		return nil, fmt.Errorf("%w: no token stands in at least %d and at most %g of the %d passages; add passages", ErrNotFitted, o.MinDF, o.MaxShare, s.Len())
	}
	if o.MaxRows > 0 && len(h.Tokens) > o.MaxRows {
		slices.SortStableFunc(h.Tokens, func(a, b int32) int { return cmp.Compare(s.DF(b), s.DF(a)) })
		h.Tokens = h.Tokens[:o.MaxRows]
		slices.Sort(h.Tokens)
	}
	if s, err = s.WithRidge(context.Background(), lambda); err != nil {
		return nil, err
	}
	if h.U, h.B, err = s.Regress(context.Background(), h.Tokens); err != nil {
		return nil, err
	}
	return h, nil
}

// activate is log(1 + ReLU(a)) of Eq. 6, and its slope.
func activate(a float32) (w, slope float32) {
	if !(a > 0) {
		return 0, 0
	}
	return float32(math.Log1p(float64(a))), 1 / (1 + a)
}
