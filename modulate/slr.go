package modulate

import "math"

// SLR is the statistical lexical representation (Eq. 5): every token of the query has weight log(1
// + 1) = log 2, every other token 0.
var SLR = Register(Variant{
	Name:  "slr",
	Kind:  Multiplicative,
	Weigh: func(Parts) (Weigher, error) { return presence{}, nil },
})

type presence struct{}

func (presence) Weigh(dst Lexical, in Input) Lexical {
	dst.IDs = in.Tokens.Lexical(dst.IDs)
	for len(dst.Weights) < len(dst.IDs) {
		dst.Weights = append(dst.Weights, math.Ln2)
	}
	return dst
}
