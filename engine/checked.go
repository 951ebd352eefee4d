package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
)

// ErrEncoder answers an encoder that gave something other than an encoder must:
// too few outputs, or a vector that is of another length, zero or not finite.
// Nothing of it is stored.
var ErrEncoder = errors.New("the encoder breaks its contract")

// encodingError says which of the texts of a call the encoder failed on.
type encodingError struct {
	text int
	err  error
}

func (e *encodingError) Error() string { return fmt.Sprintf("text %d: %v", e.text, e.err) }
func (e *encodingError) Unwrap() error { return e.err }

// checked holds an encoder to what the store and the index cannot do without: a
// vector without a direction would be stored and could never be indexed.
type checked struct{ encoder.Encoder }

// A call whose context ends is left behind: its batch ends by itself, and nobody
// waits for it.
func (c checked) Encode(ctx context.Context, role encoder.Role, texts []string, need encoder.Need) ([]encoder.Output, error) {
	type answer struct {
		out []encoder.Output
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		out, err := c.Encoder.Encode(ctx, role, texts, need)
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
	if len(out) != len(texts) {
		return nil, fmt.Errorf("%w: %d outputs for %d texts", ErrEncoder, len(out), len(texts))
	}
	dim, vocab := c.Dim(), c.VocabSize()
	for i, o := range out {
		switch {
		case need&encoder.NeedDense == 0:
		case len(o.Dense) != dim:
			err = fmt.Errorf("%w: a vector of length %d instead of %d", ErrEncoder, len(o.Dense), dim)
		case !vec.Finite(o.Dense):
			err = fmt.Errorf("%w: a vector with a NaN or an infinity", ErrEncoder)
		case vec.Norm(o.Dense) == 0:
			err = fmt.Errorf("%w: a vector of zeros, which has no direction", ErrEncoder)
		}
		for _, id := range o.Tokens.IDs {
			if id < 0 || int(id) >= vocab {
				err = fmt.Errorf("%w: token %d of a vocabulary of %d", ErrEncoder, id, vocab)
			}
		}
		if err != nil {
			return nil, &encodingError{i, err}
		}
	}
	return out, nil
}
