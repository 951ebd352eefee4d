package bench

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/modulate"
)

// LexicalOnly is the ablation of Table 6 of the paper: the lexical side of a bridge without the dense
// query vector, q_out = norm(softmax(W·w + b)), for both fit and search. w is that of the stack; clr
// computes it from the dense vector. Stacks with RLR or whitening have no such form.
var _ = RegisterSystem(SystemKind{
	Name:  "lexical",
	Usage: "lexical:STACK",
	Doc:   "a fitted stack without the dense query vector in its product (ablation)",
	Make: func(arg string) (System, error) {
		stack, err := stackNamed("lexical", arg)
		if err != nil {
			return System{}, err
		}
		for _, v := range stack.Parts() {
			if v.Kind != modulate.Multiplicative {
				return System{}, fmt.Errorf("%w: lexical:%s: %s moves the dense vector; name variants that are fitted", ErrUnknownName, arg, v.Name)
			}
		}
		s := stackSystem(stack)
		prepare := s.Prepare
		s.Name = "lexical:" + stack.Name()
		s.Prepare = func(ctx context.Context, setting *Setting) (Retriever, *Fit, error) {
			alone := *setting
			alone.alone = true
			return prepare(ctx, &alone)
		}
		return s, nil
	},
})
