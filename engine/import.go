package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// ImportOptions shape ImportBridge.
type ImportOptions struct {
	// Variant is the stack that the file's bridge belongs to, with one fitted
	// part: "" means "slr".
	Variant string
	// SameEncoder vouches that the file was trained with this database's
	// encoder, where the file does not say so itself.
	SameEncoder bool
}

// ImportBridge puts a bridge that was trained elsewhere, a safetensors file as
// modulate.Import reads it, into the database and makes it the default of
// queries that name no variant. Every stored document counts as one that the
// bridge has not seen. A file of another encoder is an
// *encoder.MismatchError, one that cannot be used ErrInvalid.
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
