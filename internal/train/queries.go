package train

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// queries are the encoded training queries. For each it keeps the dense vector, the tokens, and the source of
// w: w itself or, if w is also learned, the hidden states of the tokens.
type queries struct {
	dim    int
	dense  []float32 // [len × dim], unit vectors
	target []int32   // index in passages.reps
	tokens []int32   // those of query i are tokens[tokenAt[i]:tokenAt[i+1]], none special
	states []bf16    // [len(tokens) × dim] hidden states, nil unless w is learned
	length float64   // about that of a hidden state
	lex    modulate.Lexical
	// tokenAt and lexAt are the bounds in tokens and lex, [len + 1] each.
	tokenAt, lexAt []int
	plain          []bool // no token is special; as long as the longest query
	keeps          keeping
	even           bool   // w has the same tokens for every query that has any
	side           string // of Options
	passages       int    // rows after those of the queries, where passages are modulated
}

// keeping is what is kept of training queries in addition to tokens and vectors, for making w.
type keeping uint8

const (
	keepsWeights keeping = iota // w itself
	keepsStates                 // the hidden states that w is learned from
	keepsNothing                // w has too many entries to be kept, and is made of the vector at each step
)

// keepingOf returns what is kept for stack and its bridge, and queries.even. Logits, which are larger still, are never
// kept.
func keepingOf(stack modulate.Stack, b *modulate.Bridge) (keeps keeping, even bool) {
	whole := false
	even = true
	for _, v := range stack.Parts() {
		whole = whole || v.Whole
		every := v.Whole && v.Need&encoder.NeedLogits == 0 // logits name other tokens in each query
		even = even && (every || v.Kind == modulate.Additive)
	}
	switch {
	case learns(b):
		return keepsStates, even
	case whole && stack.Need() == encoder.NeedDense:
		return keepsNothing, even
	}
	return keepsWeights, even
}

func (q *queries) len() int { return len(q.target) }

// vector is the dense vector of query i.
func (q *queries) vector(i int) []float32 { return q.dense[i*q.dim : (i+1)*q.dim] }

// lexical is w of query i.
func (q *queries) lexical(i int) modulate.Lexical {
	a, b := q.lexAt[i], q.lexAt[i+1]
	return modulate.Lexical{IDs: q.lex.IDs[a:b], Weights: q.lex.Weights[a:b]}
}

// input is query i in the form for modulation. states is memory for hidden states; nil if they are not
// needed.
func (q *queries) input(i int, states *[]float32) modulate.Input {
	a, b := q.tokenAt[i], q.tokenAt[i+1]
	ids := q.tokens[a:b]
	in := modulate.Input{Tokens: encoder.Tokens{IDs: ids, Special: q.plain[:len(ids)]}, Dense: q.vector(i)}
	if states != nil {
		*states = widen((*states)[:0], q.states[a*q.dim:b*q.dim])
		in.Hidden = *states
	}
	return in
}

// encodeQueries encodes the drawn texts for a stack and its bridge.
func encodeQueries(ctx context.Context, enc encoder.Encoder, stack modulate.Stack, b *modulate.Bridge, d drawn, o Options) (*queries, error) {
	keeps, even := keepingOf(stack, b)
	if keeps == keepsStates && o.Side != PassageSide {
		d = fitStates(enc, d, o.StateBytes)
	}
	n := len(d.texts)
	q := &queries{
		dim: enc.Dim(), target: d.target, dense: make([]float32, 0, n*enc.Dim()),
		tokenAt: make([]int, 1, n+1), lexAt: make([]int, 1, n+1), keeps: keeps, even: even, side: o.Side,
	}
	return q, q.encode(ctx, enc, encoder.Query, d.texts, o.Side != PassageSide, stack, b, o)
}

// encode encodes texts in one role and appends them; it keeps more than their vectors only if they are
// modulated.
func (q *queries) encode(ctx context.Context, enc encoder.Encoder, role encoder.Role, texts []string, modulated bool, stack modulate.Stack, b *modulate.Bridge, o Options) error {
	keeps, need := q.keeps, encoder.NeedDense
	if modulated {
		need = stack.Need()
	}
	progress := func(done int) { o.Progress("encode queries", done, len(texts), 0) }
	return encodeTexts(ctx, enc, role, texts, need, progress, func(part []encoder.Output) error {
		lex := make([]modulate.Lexical, len(part))
		err := each(ctx, o.Workers, len(part), func(_, i int) {
			if modulated && keeps == keepsWeights {
				lex[i] = b.Weigh(modulate.Lexical{}, inputOf(part[i]))
			}
		})
		for i, out := range part {
			q.dense = append(q.dense, out.Dense...)
			switch {
			case !modulated:
			case keeps == keepsStates:
				q.keepStates(out)
			default:
				q.tokens = out.Tokens.Lexical(q.tokens)
			}
			q.tokenAt = append(q.tokenAt, len(q.tokens))
			q.lex.IDs = append(q.lex.IDs, lex[i].IDs...)
			q.lex.Weights = append(q.lex.Weights, lex[i].Weights...)
			q.lexAt = append(q.lexAt, len(q.lex.IDs))
			q.plain = append(q.plain, make([]bool, max(0, len(out.Tokens.IDs)-len(q.plain)))...)
		}
		return err
	})
}

// inputOf is an encoded query in the form for modulation.
func inputOf(out encoder.Output) modulate.Input {
	return modulate.Input{Tokens: out.Tokens, Dense: out.Dense, Hidden: out.Hidden, Logits: out.Logits}
}

// encodeSlice is the number of texts in one call of the encoder: enough for batches of texts of similar
// length, few enough for progress and cancellation.
const encodeSlice = 2048

// encodeTexts encodes texts in one role, slice by slice, and passes each output to take in order. If hidden
// states or logits are needed, which are large, slices are smaller.
func encodeTexts(ctx context.Context, enc encoder.Encoder, role encoder.Role, texts []string, need encoder.Need, progress func(done int), take func(part []encoder.Output) error) error {
	slice := encodeSlice
	if need&encoder.NeedHidden != 0 {
		slice /= 4
	}
	if need&encoder.NeedLogits != 0 {
		slice /= 8
	}
	for at := 0; at < len(texts); at += slice {
		progress(at)
		if err := ctx.Err(); err != nil {
			return err
		}
		part := texts[at:min(at+slice, len(texts))]
		out, err := enc.Encode(ctx, role, encoder.Texts(part...), need)
		if err != nil {
			return fmt.Errorf("encode %s texts: %w", role, err)
		}
		if len(out) != len(part) {
			return fmt.Errorf("encode queries: the encoder gave %d outputs for %d texts", len(out), len(part))
		}
		for _, x := range out {
			if len(x.Dense) != enc.Dim() {
				return fmt.Errorf("encode queries: the encoder gave a vector of length %d instead of %d", len(x.Dense), enc.Dim())
			}
		}
		if err := take(out); err != nil {
			return err
		}
	}
	progress(len(texts))
	return nil
}
