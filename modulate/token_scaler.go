package modulate

import (
	"fmt"
	"math"

	"github.com/lexsem/lexsem/encoder"
)

// TokenScaler is a Modulator that can multiply the hidden state of each token by the factors of
// that token alone. All modulators of NewStack implement it.
type TokenScaler interface {
	Modulator
	// ScaleTokens appends the states in.Hidden [len(in.Tokens.IDs) × d] to dst, each modulated (Eq. 5,
	// 6, 8, 9) as if it were a query of that one token: h_t ⊙ softmax(W·w_t + b), scaled back to the
	// length of h_t. Additive parts do nothing. The state of a token without weight is unchanged up to
	// rounding. in.Dense and in.Logits are not read. ErrOptions if the stack does not ScalesTokens or
	// in.Hidden has another length. Cost O(L·d) for L tokens. Safe for concurrent use.
	ScaleTokens(dst []float32, in Input) ([]float32, error)
}

// ScalesTokens reports whether v can weigh a single token: it is multiplicative and reads neither
// the vector nor the logits of the query.
func (v Variant) ScalesTokens() bool {
	return v.Kind == Multiplicative && !v.ReadsDense && v.Need&encoder.NeedLogits == 0
}

// ScalesTokens reports whether modulators of the stack can ScaleTokens: at least one part is
// multiplicative, and every multiplicative part can weigh a single token.
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
	factors := modulator{name: m.name, dim: m.dim, bridge: m.bridge, projection: m.projection, spread: m.spread, sums: m.sums}
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
