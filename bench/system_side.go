package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
)

// Side is the ablation of Table 5 of the paper: the stack that is fitted for
// queries modulates the passages instead, or both sides, in a copy of the
// index in memory. Stacks that read more than tokens and dense vectors have no
// such form.
var Side = RegisterSystem(SystemKind{
	Name:  "side",
	Usage: "side:passage:STACK, side:both:STACK",
	Doc:   "a stack on the passages, or on queries and passages (ablation)",
	Make: func(arg string) (System, error) {
		side, name, ok := strings.Cut(arg, ":")
		if !ok || side != "passage" && side != "both" {
			return System{}, fmt.Errorf("%w: side:%s: use side:passage:STACK or side:both:STACK; the stack alone modulates queries", ErrUnknownName, arg)
		}
		stack, err := stackNamed("side:"+side, name)
		if err != nil {
			return System{}, err
		}
		if stack.Need() != encoder.NeedDense {
			return System{}, fmt.Errorf("%w: side:%s: passages have tokens and dense vectors only; name variants that need no more", ErrUnknownName, arg)
		}
		s := stackSystem(stack)
		prepare := s.Prepare
		s.Name, s.scales = "side:"+side+":"+stack.Name(), s.scales && side == "both"
		s.Prepare = func(ctx context.Context, setting *Setting) (Retriever, *Fit, error) {
			r, fit, err := prepare(ctx, setting)
			if err != nil {
				return nil, nil, err
			}
			v := r.(vectorRetriever)
			moved, err := setting.modulated(ctx, v.vector)
			if err != nil {
				return nil, nil, err
			}
			v.setting = moved
			if side == "passage" {
				v.vector = func(dst []float32, q Question) []float32 { return append(dst, q.Output.Dense...) }
			}
			return v, fit, nil
		}
		return s, nil
	},
})

// modulated is the setting with an index of the passages' vectors as vector
// makes them.
func (s *Setting) modulated(ctx context.Context, vector func(dst []float32, q Question) []float32) (*Setting, error) {
	d, n := s.Encoder.Dim(), len(s.Passages)
	ids, vectors := make([]uint64, n), make([]float32, n*d)
	err := parallel(ctx, n, func(i int) error {
		ids[i] = uint64(i)
		vector(vectors[i*d:i*d:(i+1)*d], Question{Output: s.Passages[i]})
		return nil
	})
	if err != nil {
		return nil, err
	}
	index, err := newExact(d)
	if err != nil {
		return nil, err
	}
	if err := index.Add(ids, vectors); err != nil {
		return nil, fmt.Errorf("indexing the modulated passages: %w", err)
	}
	moved := *s
	moved.Index = index
	return &moved, nil
}
