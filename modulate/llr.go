package modulate

import (
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
)

// llr is the learned lexical representation as in the paper's released code. Each token is weighed
// by its own hidden state and one vector u [d] for all tokens:
//
//	w_t = max over j with token t of log(1 + ReLU(h_j·u + b))
//
// A fit starts at u = 0, b = 1, where LLR equals SLR.
var llr = Register(Variant{
	Name: "llr",
	Kind: Multiplicative,
	Need: encoder.NeedHidden,
	Weigh: func(p Parts) (Weigher, error) {
		h, err := p.head("llr")
		if err != nil {
			return nil, err
		}
		if h.Tokens != nil {
			return nil, fmt.Errorf("%w: the bridge's llr has a row for each token, not one for all; fit again", ErrNotFitted)
		}
		return learned{h, scalar{h}.weigh}, nil
	},
	Start: func(dim int, _ float64, _ Parts) (*Head, error) {
		return &Head{U: make([]float32, dim), B: []float32{1}}, nil
	},
})

type scalar struct{ h *Head }

func (s scalar) weigh(dst Lexical, from []Origin, in Input, trace bool) (Lexical, []Origin) {
	d, at := len(s.h.U), len(dst.IDs)
	if len(in.Hidden) != len(in.Tokens.IDs)*d {
		return dst, from
	}
	for j, id := range in.Tokens.IDs {
		if in.Tokens.Special[j] {
			continue
		}
		w, slope := activate(vec.Dot(in.Hidden[j*d:(j+1)*d], s.h.U) + s.h.B[0])
		dst, from = keep(dst, from, at, id, w, Origin{State: int32(j), Slope: slope}, trace)
	}
	return dst, from
}
