package bench

import (
	"context"
	"fmt"
)

// Whole is a stack that is fitted to whole passages, as in the engine, while the queries are clean
// (Options.Clean). The difference to the stack itself shows the effect of training on spans that
// overlap with the queries. The overlaps of the report are those of the clean fits only.
var _ = RegisterSystem(SystemKind{
	Name:  "whole",
	Usage: "whole:STACK",
	Doc:   "a stack fitted to whole passages where probes are clean: what overlap is worth",
	Make: func(arg string) (System, error) {
		stack, err := stackNamed("whole", arg)
		if err != nil {
			return System{}, err
		}
		if !stack.Fitted() {
			return System{}, fmt.Errorf("%w: whole:%s: %s is taught by no queries; name a stack that is fitted, such as rlr+slr", ErrUnknownName, arg, stack.Name())
		}
		return System{
			Name: "whole:" + stack.Name(),
			Need: stack.Need(),
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				if !s.Clean {
					return nil, nil, fmt.Errorf("%w: whole:%s: every fit is one to whole passages where probes are not clean; ask for clean ones (--clean), or for %s", ErrOption, stack.Name(), stack.Name())
				}
				whole := *s
				whole.Clean, whole.asked = false, nil
				m, fit, err := whole.modulator(ctx, stack)
				if err != nil {
					return nil, nil, err
				}
				return stackRetriever(s, m, fit), fit, nil
			},
		}, nil
	},
})
