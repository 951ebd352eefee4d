package bench

import (
	"context"
	"fmt"
)

// Unseen measures a stack on passages that it has never seen. Its sufficient statistics and fit use
// the passages that Options.PassagesLimit left out. Questions and index use the drawn passages.
// Left-out passages with the same text as a drawn one are not used.
var _ = RegisterSystem(SystemKind{
	Name:  "unseen",
	Usage: "unseen:STACK",
	Doc:   "a stack that learned from the passages left out by a limit of passages, not from those searched",
	Make: func(arg string) (System, error) {
		stack, err := stackNamed("unseen", arg)
		if err != nil {
			return System{}, err
		}
		return System{
			Name: "unseen:" + stack.Name(),
			Need: stack.Need(),
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				learned, err := s.leftOut(ctx)
				if err != nil {
					return nil, nil, err
				}
				m, fit, err := learned.modulator(ctx, stack)
				if err != nil {
					return nil, nil, err
				}
				return stackRetriever(s, m, fit), fit, nil
			},
		}, nil
	},
})

// leftOut is a setting of the left-out passages instead of the searched ones, made at the first
// call. It has no index.
func (s *Setting) leftOut(ctx context.Context) (*Setting, error) {
	if s.others != nil {
		return s.others, nil
	}
	var rest *Targets
	if s.LeftOut != nil {
		rest = s.LeftOut()
	}
	if rest == nil || rest.Len() < 2 {
		return nil, fmt.Errorf("%w: unseen: no passages were left out to learn from; limit the passages (--passages-limit) to fewer than there are, without distractors", ErrOption)
	}
	others, err := s.beside(ctx, rest, "encode what was left out")
	if err != nil {
		return nil, err
	}
	s.others = others
	return others, nil
}

// leftOutTargets returns the texts of all passages except the drawn ones.
func leftOutTargets(all *Corpus, drawn *Targets) *Targets {
	known := make(map[string]struct{}, drawn.Len())
	for _, t := range drawn.Texts {
		known[t] = struct{}{}
	}
	var rest []Passage
	for _, p := range all.Passages {
		if _, ok := known[p.Text()]; !ok {
			rest = append(rest, p)
		}
	}
	return NewTargets(rest)
}
