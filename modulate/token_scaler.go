package modulate

import (
	"fmt"
	"math"

	"github.com/lexsem/lexsem/encoder"
)

// TokenScaler is a Modulator that can multiply the state of each token by the
// factors of that token alone. All that NewStack makes are.
type TokenScaler interface {
	Modulator
	// ScaleTokens appends the states in.Hidden [len(in.Tokens.IDs) × d] to dst, each as
	// Eq. 5, 6, 8 and 9 make it of a query that is this one token: h_t ⊙ softmax(W·w_t + b),
	// where w_t is the lexical vector of the token and its state. It has the length that h_t
	// had: a softmax over d dimensions shrinks every state, and says nothing by it. Additive
	// parts of the stack have no factors and do nothing. A state of a token without lexical
	// weight, or of factors that are all equal, is that of in.Hidden but for rounding.
	// ErrOptions for a stack without Stack.ScalesTokens, and for states that are not d numbers
	// for each token. in.Dense and in.Logits are not read. Cost O(L·d) for L tokens.
	// Safe for concurrent use.
	ScaleTokens(dst []float32, in Input) ([]float32, error)
}

// ScalesTokens reports whether v gives factors to a single token: it is multiplicative, and
// weighs tokens by themselves or by their states, not by the vector or the logits of the query.
func (v Variant) ScalesTokens() bool {
	return v.Kind == Multiplicative && !v.ReadsDense && v.Need&encoder.NeedLogits == 0
}

// ScalesTokens reports whether modulators of the stack can ScaleTokens: some part is
// multiplicative, and each that is gives factors to a single token (Variant.ScalesTokens).
func (s Stack) ScalesTokens() bool {
	some := false
	for _, v := range s.parts {
		if v.Kind == Multiplicative && !v.ScalesTokens() {
			return false
		}
		some = some || v.Kind == Multiplicative
	}
	return some
}

// ScaleTokens implements TokenScaler.
func (m *modulator) ScaleTokens(dst []float32, in Input) ([]float32, error) {
	if !m.scales {
		return dst, fmt.Errorf("%w: %s has no factors of single tokens; use a stack that ScalesTokens", ErrOptions, m.name)
	}
	if len(in.Hidden) != len(in.Tokens.IDs)*m.dim {
		return dst, fmt.Errorf("%w: %d numbers are no states of %d dimensions for %d tokens", ErrOptions, len(in.Hidden), m.dim, len(in.Tokens.IDs))
	}
	factors := modulator{name: m.name, dim: m.dim, bridge: m.bridge, projection: m.projection, spread: m.spread}
	unit := make([]float32, m.dim)
	for i := range in.Tokens.IDs {
		state := in.Hidden[i*m.dim : (i+1)*m.dim]
		norm := math.Sqrt(dot64(state, state))
		if norm == 0 {
			dst = append(dst, state...)
			continue
		}
		for j, x := range state {
			unit[j] = float32(float64(x) / norm)
		}
		at := len(dst)
		dst = factors.Modulate(dst, Input{
			Tokens: encoder.Tokens{IDs: in.Tokens.IDs[i : i+1], Special: in.Tokens.Special[i : i+1]},
			Dense:  unit, Hidden: state,
		})
		for j, x := range dst[at:] {
			dst[at+j] = float32(float64(x) * norm)
		}
	}
	return dst, nil
}
