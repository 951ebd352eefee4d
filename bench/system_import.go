package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lexsem/lexsem/modulate"
)

// Import is a stack with a bridge that was trained elsewhere, read from a safetensors file
// (modulate.Import). A file that does not name its encoder is assumed to belong to that of the run.
// Reports call it import:STACK, whatever the file name.
var _ = RegisterSystem(SystemKind{
	Name:  "import",
	Usage: "import:STACK:FILE",
	Doc:   "a stack with a bridge of a safetensors file, as lexsem fit --import takes it",
	Make: func(arg string) (System, error) {
		name, file, ok := strings.Cut(arg, ":")
		if !ok || file == "" {
			return System{}, fmt.Errorf("%w: import:%s names no file; ask for import:STACK:FILE, such as import:slr:bridge.safetensors", ErrUnknownName, arg)
		}
		stack, err := stackNamed("import", name)
		if err != nil {
			return System{}, err
		}
		return System{
			Name: "import:" + stack.Name(),
			Need: stack.Need(),
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				parts := modulate.Parts{}
				var err error
				if stack.ReadsSums() {
					if parts.Sums, err = s.corpusSums(ctx); err != nil {
						return nil, nil, err
					}
				}
				if parts.Weights, err = modulate.Import(file, stack.Name(), s.Encoder.Fingerprint()); err != nil {
					if errors.Is(err, fs.ErrNotExist) || errors.Is(err, modulate.ErrOptions) {
						return nil, nil, fmt.Errorf("%w: import:%s: %w", ErrOption, arg, err)
					}
					return nil, nil, err
				}
				if err := parts.Weights.CheckEncoder("the bridge "+file, s.Encoder.Fingerprint()); err != nil {
					return nil, nil, err
				}
				m, err := modulate.NewStack(stack.Name(), parts)
				if err != nil {
					return nil, nil, err
				}
				fit := &Fit{Passages: s.Targets.Len(), Bytes: partsBytes(parts)}
				return stackRetriever(s, m, fit), fit, nil
			},
		}, nil
	},
})
