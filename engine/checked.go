package engine

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// ErrEncoder answers an encoder that gave something other than an encoder must:
// too few outputs, or a vector that is of another length, zero or not finite.
// Nothing of it is stored.
var ErrEncoder = encoder.ErrContract

// checked holds an encoder to what the store and the index cannot do without: a
// vector without a direction would be stored and could never be indexed.
type checked struct {
	encoder.Encoder
	metric metric.Metric // of the database that its vectors are for
}

// A call whose context ends is left behind: its batch ends by itself, and nobody
// waits for it.
func (c checked) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	type answer struct {
		out []encoder.Output
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		out, err := c.Encoder.Encode(ctx, role, in, need)
		answers <- answer{out, err}
	}()
	var out []encoder.Output
	var err error
	select {
	case a := <-answers:
		out, err = a.out, a.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if len(out) != len(in) {
		return nil, fmt.Errorf("%w: %d outputs for %d inputs", ErrEncoder, len(out), len(in))
	}
	dim, vocab := c.Dim(), c.VocabSize()
	for i, o := range out {
		if need&encoder.NeedDense != 0 {
			if err = encoder.CheckDense(o.Dense, dim); err == nil && c.metric.Check(o.Dense) != nil {
				err = fmt.Errorf("%w: %w", ErrEncoder, c.metric.Check(o.Dense))
			}
		}
		for _, id := range o.Tokens.IDs {
			if id < 0 || int(id) >= vocab {
				err = fmt.Errorf("%w: token %d of a vocabulary of %d", ErrEncoder, id, vocab)
			}
		}
		if err != nil {
			return nil, &encoder.TextError{Text: i, Err: err}
		}
	}
	return out, nil
}

// checkFingerprint refuses an encoder that a database could not be made for: what
// is stored of it must tell it from others when the database is opened again.
func checkFingerprint(enc encoder.Encoder) error {
	f := enc.Fingerprint()
	switch {
	case f.Model == "":
		return fmt.Errorf("%w: its fingerprint has no model name", ErrEncoder)
	case f.Dim != enc.Dim() || f.Dim < 1 || f.Dim > store.MaxDim:
		return fmt.Errorf("%w: %s has the dimension %d, and %d in its fingerprint; use one of 1 to %d", ErrEncoder, f.Model, enc.Dim(), f.Dim, store.MaxDim)
	case f.VocabSize != enc.VocabSize() || f.VocabSize < 0:
		return fmt.Errorf("%w: %s has %d token ids, and %d in its fingerprint", ErrEncoder, f.Model, enc.VocabSize(), f.VocabSize)
	}
	for i, p := range f.Probe {
		if !f.Probed() {
			break
		}
		if err := encoder.CheckDense(p, f.Dim); err != nil {
			return fmt.Errorf("probe vector %d in the fingerprint of %s: %w; give all %d, or none", i, f.Model, err, len(f.Probe))
		}
	}
	return nil
}
