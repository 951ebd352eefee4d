package modulate

import "fmt"

// Bridge is the multiplicative side of a stack. The lexical vectors of its parts are
// concatenated, w = [w₁; w₂; …], and so are the matrices, W = [W₁ W₂ …]. The logits of the parts
// add up: z = Σ W_k·w_k + b. Token t of part k has the id k·|V| + t. A stack with one fitted part
// has plain token ids.
type Bridge struct {
	vocab int // |V| of one part
	parts []Weigher
}

// Bridge returns the multiplicative side of the stack. p.Weights must be set. It returns
// ErrNotFitted if a part lacks something, or if W has the wrong number of columns.
func (s Stack) Bridge(p Parts) (*Bridge, error) {
	b := &Bridge{}
	columns := p.Weights.Projection.VocabSize()
	for _, v := range s.parts {
		if v.Kind != Multiplicative {
			continue
		}
		if v.ReadsSums && p.Sums == nil {
			return nil, noSums(v.Name)
		}
		w, err := v.Weigh(p)
		if err != nil {
			return nil, err
		}
		b.parts = append(b.parts, w)
	}
	if len(b.parts) == 0 || columns%len(b.parts) != 0 {
		return nil, fmt.Errorf("%w: %d columns of W for the %d fitted parts of %s; fit again", ErrNotFitted, columns, len(b.parts), s.name)
	}
	b.vocab = columns / len(b.parts)
	return b, nil
}

func noSums(variant string) error {
	return fmt.Errorf("%w: %s needs the sums of a corpus; open or build an index first", ErrNotFitted, variant)
}

// Columns is the number of columns of W: |V| for each part.
func (b *Bridge) Columns() int { return b.vocab * len(b.parts) }

// Weigh implements Weigher for all parts.
func (b *Bridge) Weigh(dst Lexical, in Input) Lexical {
	for k, p := range b.parts {
		at := len(dst.IDs)
		dst = p.Weigh(dst, in)
		b.shift(dst.IDs[at:], k)
	}
	return dst
}

// shift turns the token ids of part k into columns of W. An id outside the vocabulary becomes −1,
// which is no column.
func (b *Bridge) shift(ids []int32, k int) {
	for i, id := range ids {
		if id < 0 || int(id) >= b.vocab {
			ids[i] = -1
			continue
		}
		ids[i] = id + int32(k*b.vocab)
	}
}
