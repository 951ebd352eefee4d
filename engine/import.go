package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// ImportOptions configure ImportBridge.
type ImportOptions struct {
	// Variant is the stack that the imported bridge belongs to, with one fitted part; "" means "slr".
	Variant string
	// SameEncoder confirms that the bridge was trained with this database's encoder, for a file that does not say so.
	SameEncoder bool
}

// ImportBridge adds a bridge that was trained elsewhere: a safetensors file, in the format of modulate.Import. Queries
// that name no variant use it from then on. All stored documents count as not seen by the bridge.
//
// Errors: *encoder.MismatchError for a file of another encoder; ErrInvalid for a file that cannot be used.
func (e *Engine) ImportBridge(ctx context.Context, path string, o ImportOptions) (_ FitReport, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return FitReport{}, err
	}
	defer done(&err)
	if err := e.metric.Needs("a bridge"); err != nil {
		return FitReport{}, err
	}
	if o.Variant == "" {
		o.Variant = modulate.SLR.Name
	}
	var trust encoder.Fingerprint
	if o.SameEncoder {
		trust = e.fp
	}
	w, err := modulate.Import(path, o.Variant, trust)
	if err != nil {
		for _, bad := range []error{modulate.ErrCorrupt, modulate.ErrOptions, modulate.ErrNoEncoder, modulate.ErrUnknownVariant} {
			if errors.Is(err, bad) {
				return FitReport{}, fmt.Errorf("%w: %w", ErrInvalid, err)
			}
		}
		return FitReport{}, err
	}
	if err := w.CheckEncoder("bridge "+path, e.fp); err != nil {
		return FitReport{}, err
	}
	file, err := e.saveBridge(ctx, w, 0, []ProbeScore{}, "")
	if err != nil {
		return FitReport{}, err
	}
	return FitReport{Variant: w.Stack, File: file}, nil
}
