// Package modulate turns a dense query vector and the tokens of the query into a modulated query vector.
// Passage vectors do not change.
//
// Start with [NewStack], which makes a [Modulator] by a name such as "rlr+slr". [Parts] are the inputs of a
// stack: the sufficient statistics of the corpus (package ridge) and fitted [Weights], which package train
// makes and [Load] and [Import] read. A [Variant] is one file of this package, or one call of [Register] in
// your code.
//
// Two kinds of variants can be stacked. Multiplicative ones are the bridge of the LexSemBridge paper, q ⊙
// softmax(W·w + b), where w is a sparse lexical vector over the vocabulary (Sec. 3.4–3.7, Eq. 5–9). Additive
// ones (RLR, whiten) move q along a direction computed from the corpus. A stack is
//
//	q_out = norm( norm(q ⊙ exp(ρ·Σ z)) + ρ·Σ shift ),   z = W·w + b
//
// ρ is the share of the query's tokens that the corpus knows, by idf. Normalisation cancels the denominator
// of the softmax. docs/method.md has the equations of each variant.
//
// What holds: a Modulator is safe for concurrent use. Its result is finite and of length 1 whenever the query
// vector is. If no token of the query can be used, the query vector is unchanged, bit for bit. The cost is
// O(L·d) for L tokens, and O(d²) more with RLR. A name that is not registered is ErrUnknownVariant, missing
// weights or statistics are ErrNotFitted, and a damaged file is ErrCorrupt.
package modulate

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
)

// Input is a query in the form for modulation.
type Input struct {
	// Tokens are the tokens of the query as the encoder read them.
	Tokens encoder.Tokens
	// Dense is the unit query vector [d].
	Dense []float32
	// Hidden [len(Tokens.IDs) × d] and Logits [|V|] are set if Modulator.Need asks for them, else nil.
	Hidden, Logits []float32
	// Impacts are those of the query (encoder.WithSparse), for the third retriever of a search; modulators do not read them.
	Impacts []encoder.Impact
	// Ctx, if not nil, can end a long sum of RLR. The query is then not shifted, and the caller learns
	// the reason from Ctx.
	Ctx context.Context
}

// Lexical is a sparse lexical vector w over the vocabulary (Sec. 3.4): token IDs[i] has weight
// Weights[i], all others 0. The ids are distinct.
type Lexical struct {
	IDs     []int32
	Weights []float32
}

// Emptied returns w without entries, in the same storage.
func (w Lexical) Emptied() Lexical { return Lexical{w.IDs[:0], w.Weights[:0]} }

// Modulator modulates query vectors.
type Modulator interface {
	// Name is the canonical name of the stack, such as "rlr+slr".
	Name() string
	// Need names the tensors that Modulate reads, encoder.NeedDense included.
	Need() encoder.Need
	// Modulate appends the modulated query vector [d] to dst, which must not overlap in.Dense, and
	// returns the extended slice. If in.Dense is finite and of unit length, so is the result. If no
	// token of the query can be used or W is 0, the result is in.Dense bit for bit. A vector of
	// another dimension is returned unchanged. Cost O(L·d) for L tokens, plus O(d²) with RLR. Safe for
	// concurrent use. No allocation if dst has room.
	Modulate(dst []float32, in Input) []float32
}
