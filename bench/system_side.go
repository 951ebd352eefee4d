package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/train"
)

// Side is the ablation of Table 5 of the paper: a stack modulates the passages instead of the queries,
// or both, in a copy of the index in memory. Its fitted part, if any, is fitted the same way
// (train.Options.Side).
var _ = RegisterSystem(SystemKind{
	Name:  "side",
	Usage: "side:passage:STACK, side:both:STACK",
	Doc:   "a stack on the passages, or on queries and passages (ablation)",
	Make: func(arg string) (System, error) {
		side, name, ok := strings.Cut(arg, ":")
		if !ok || side != train.PassageSide && side != train.BothSides {
			return System{}, fmt.Errorf("%w: side:%s: use side:passage:STACK or side:both:STACK; the stack alone modulates queries", ErrUnknownName, arg)
		}
		stack, err := stackNamed("side:"+side, name)
		if err != nil {
			return System{}, err
		}
		s := stackSystem(stack)
		prepare := s.Prepare
		s.Name = "side:" + side + ":" + stack.Name()
		s.Prepare = func(ctx context.Context, setting *Setting) (Retriever, *Fit, error) {
			fitted := *setting
			fitted.side = side
			r, fit, err := prepare(ctx, &fitted)
			if err != nil {
				return nil, nil, err
			}
			v := r.(vectorRetriever)
			moved, err := setting.modulated(ctx, v.vector, stack.Need())
			if err != nil {
				return nil, nil, err
			}
			v.setting = moved
			if side == train.PassageSide {
				v.vector = func(dst []float32, q Question) []float32 { return append(dst, q.Output.Dense...) }
			}
			return v, fit, nil
		}
		return s, nil
	},
})

// modulated is the setting with an index of modified passage vectors. The function vector makes each from a passage's
// tensors, those of need.
func (s *Setting) modulated(ctx context.Context, vector func(dst []float32, q Question) []float32, need encoder.Need) (*Setting, error) {
	d, n := s.Encoder.Dim(), len(s.Passages)
	ids, vectors := make([]uint64, n), make([]float32, n*d)
	err := s.eachPassages(ctx, need, func(at int, part []encoder.Output) error {
		return parallel.Each(ctx, len(part), func(i int) error {
			ids[at+i] = uint64(at + i)
			vector(vectors[(at+i)*d:(at+i)*d:(at+i+1)*d], Question{Output: part[i]})
			return nil
		})
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
