// Package modulate turns a dense query vector and the tokens of the query into
// a modulated query vector, leaving every passage vector as it is.
//
// Two kinds of parts do so and can be stacked. Multiplicative parts are the
// bridge of the LexSemBridge paper: q ⊙ softmax(W·w + b), where w is a sparse
// lexical vector over the vocabulary (Sec. 3.4–3.7, Eq. 5–9). Additive parts
// move q along a direction read from sums over the corpus (RLR). A stack is
//
//	q_out = norm( norm(q ⊙ exp(Σ z)) + Σ shift )
//
// with z = W·w + b: the denominator of the softmax cancels by normalisation.
// Modulators are made by NewStack from a name such as "rlr+slr"; a variant is
// one file of this package that calls register.
package modulate

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
)

// Input is what one query offers to modulation.
type Input struct {
	// Tokens are the tokens of the query as the encoder was fed them.
	Tokens encoder.Tokens
	// Dense is the unit query vector [d].
	Dense []float32
	// Hidden [len(Tokens.IDs) × d] and Logits [|V|] are set when the modulator
	// asks for them (Modulator.Need), else nil.
	Hidden, Logits []float32
	// Ctx ends a long sum of RLR early, where it is not nil: there is no shift
	// then, and the caller sees by Ctx why.
	Ctx context.Context
}

// Lexical is a sparse lexical vector w over the vocabulary (Sec. 3.4): token
// IDs[i] has weight Weights[i], every other token 0. The ids are distinct.
type Lexical struct {
	IDs     []int32
	Weights []float32
}

// Emptied is w without entries, in the same storage.
func (w Lexical) Emptied() Lexical { return Lexical{w.IDs[:0], w.Weights[:0]} }

// Modulator modulates query vectors.
type Modulator interface {
	// Name is the canonical name of the stack, for example "rlr+slr".
	Name() string
	// Need names the tensors that Modulate reads from its Input, always
	// including encoder.NeedDense.
	Need() encoder.Need
	// Modulate appends the modulated query vector [d] to dst and returns the
	// extended slice; dst must not overlap in.Dense. The result is finite and of
	// unit length whenever in.Dense is. Where there is nothing to modulate by
	// (no token with lexical weight, W = 0, tokens the corpus has never seen) it
	// is in.Dense bit for bit. A vector that has not the modulator's dimension
	// is returned unchanged; callers check dimensions when they open an encoder.
	// Cost O(L·d) for L tokens, and O(d²) more for a stack with RLR. Safe for
	// concurrent use; no allocation when dst has room.
	Modulate(dst []float32, in Input) []float32
}
