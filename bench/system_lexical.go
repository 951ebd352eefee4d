package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// LexicalOnly is the ablation of Table 6 of the paper: the lexical side of a
// bridge without the dense query vector, q_out = norm(softmax(W·w + b)), fitted
// and searched with as the stack itself is. Stacks with RLR, or with a variant
// that reads the dense vector, have no such form.
var LexicalOnly = RegisterSystem(SystemKind{
	Name:  "lexical",
	Usage: "lexical:STACK",
	Doc:   "a fitted stack without the dense query vector (ablation)",
	Make: func(arg string) (System, error) {
		stack, err := stackNamed("lexical", arg)
		if err != nil {
			return System{}, err
		}
		for _, v := range stack.Parts() {
			if v.Kind != modulate.Multiplicative || v.ReadsDense {
				return System{}, fmt.Errorf("%w: lexical:%s: %s reads the dense vector; name variants that read tokens", ErrUnknownName, arg, v.Name)
			}
		}
		s := stackSystem(stack)
		prepare := s.Prepare
		s.Name = "lexical:" + stack.Name()
		s.Prepare = func(ctx context.Context, setting *Setting) (Retriever, *Fit, error) {
			even := *setting
			even.Encoder = evenEncoder{setting.Encoder}
			r, fit, err := prepare(ctx, &even)
			if err != nil {
				return nil, nil, err
			}
			v := r.(vectorRetriever)
			vector, ones := v.vector, evenVector(setting.Encoder.Dim())
			v.vector = func(dst []float32, q Question) []float32 {
				q.Output.Dense = ones
				return vector(dst, q)
			}
			return v, fit, nil
		}
		return s, nil
	},
})

// evenEncoder gives every query the same dense vector, all of whose components
// are equal, so that q ⊙ q_lex is q_lex.
type evenEncoder struct{ encoder.Encoder }

// Encode implements encoder.Encoder.
func (e evenEncoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := e.Encoder.Encode(ctx, role, in, need)
	if role == encoder.Query && err == nil {
		for i := range out {
			out[i].Dense = evenVector(e.Dim())
		}
	}
	return out, err
}

func evenVector(dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(1 / math.Sqrt(float64(dim)))
	}
	return v
}
