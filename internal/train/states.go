package train

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// bf16 is the upper half of a float32: 8 bits of precision, which suffices for a hidden
// state whose products are summed over hundreds of components.
type bf16 uint16

func narrow(dst []bf16, x []float32) []bf16 {
	for _, f := range x {
		dst = append(dst, bf16(vec.BF16(f)))
	}
	return dst
}

func widen(dst []float32, x []bf16) []float32 {
	for _, b := range x {
		dst = append(dst, math.Float32frombits(uint32(b)<<16))
	}
	return dst
}

// stateLength is the root mean square length of the encoder's hidden states, measured on
// fixed texts, or on the first images; 1 for a stack that does not read them.
func stateLength(ctx context.Context, enc encoder.Encoder, s modulate.Stack, set *passages) (float64, error) {
	if s.Need()&encoder.NeedHidden == 0 {
		return 1, nil
	}
	texts := encoder.ProbeTexts[:]
	if set.media != "" {
		texts = set.texts[:min(len(texts), len(set.texts))]
	}
	out, err := enc.Encode(ctx, encoder.Query, encoder.Texts(texts...), encoder.NeedHidden)
	if err != nil {
		return 0, fmt.Errorf("encode the texts that scale hidden states: %w", err)
	}
	var sum float64
	n := 0
	for _, o := range out {
		for j := range o.Tokens.IDs {
			if x := o.Hidden[j*enc.Dim() : (j+1)*enc.Dim()]; !o.Tokens.Special[j] {
				sum += float64(vec.Dot(x, x))
				n++
			}
		}
	}
	if !(sum > 0) {
		return 1, nil
	}
	return math.Sqrt(sum / float64(n)), nil
}

// fitStates drops queries at the end whose hidden states would exceed limit bytes.
// Queries are in the order of drawing, so every passage loses about as many.
func fitStates(enc encoder.Encoder, d drawn, limit int64) drawn {
	var bytes int64
	print := enc.Fingerprint()
	for i, text := range d.texts {
		n := print.MaxTokens
		if print.Media == "" {
			n = len(enc.Tokenize(encoder.Query, text).IDs)
		}
		bytes += 2 * int64(n) * int64(print.Dim)
		if bytes > limit && i > 0 {
			return drawn{d.texts[:i], d.target[:i]}
		}
	}
	return d
}

// keepStates keeps the tokens of an encoded query that are not special, and
// their hidden states.
func (q *queries) keepStates(out encoder.Output) {
	for j, id := range out.Tokens.IDs {
		if !out.Tokens.Special[j] {
			q.tokens = append(q.tokens, id)
			q.states = narrow(q.states, out.Hidden[j*q.dim:(j+1)*q.dim])
		}
	}
}
