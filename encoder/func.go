package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/pooling"
)

// ErrContract says that an encoder broke its contract: too few outputs, or a vector that has the wrong
// length, is zero or is not finite.
var ErrContract = errors.New("the encoder breaks its contract")

// TextError says which text of a call failed.
type TextError struct {
	Text int // index in the slice of the call
	Err  error
}

func (e *TextError) Error() string { return fmt.Sprintf("text %d: %v", e.Text, e.Err) }

// Unwrap returns the cause.
func (e *TextError) Unwrap() error { return e.Err }

// CheckDense returns nil for a finite vector of length dim that is not zero, else an ErrContract.
func CheckDense(v []float32, dim int) error {
	var s float64 // cannot overflow
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	switch {
	case len(v) != dim:
		return fmt.Errorf("%w: a vector of length %d instead of %d", ErrContract, len(v), dim)
	case math.IsNaN(s) || math.IsInf(s, 0):
		return fmt.Errorf("%w: a vector with a NaN or an infinity", ErrContract)
	case float32(math.Sqrt(s)) == 0:
		return fmt.Errorf("%w: a vector of zeros, which has no direction", ErrContract)
	}
	return nil
}

// Func returns an Encoder for any source of vectors. Only name distinguishes it from other sources.
// dim is the length of its vectors. The function returns one vector for each text, of any length but
// zero, and must be safe for concurrent use. There are no tokens and no hidden states, and passages
// and queries do not differ.
//
// Probe vectors are not known when the source is opened, since a server may be down then. Code that
// stores vectors requests the probe vectors with the first texts, and compares them at the next
// encoding.
//
// ErrContract is returned for a wrong number of vectors. It is returned in a *TextError for a vector
// of another length, or one that is zero or not finite. Invalid arguments make each Encode fail.
func Func(name string, dim int, embed func(ctx context.Context, texts []string) ([][]float32, error)) Encoder {
	return &function{name: name, dim: dim, embed: embed}
}

// FuncUnscaled is Func for vectors whose lengths count: it returns them unchanged, while Func scales
// them to length 1. Their length may be anything above zero, up to 1e18. They are for databases of
// metric "dot" or "l2" (engine.Options). The fingerprint differs from that of Func, so a cache or
// database keeps the two apart.
func FuncUnscaled(name string, dim int, embed func(ctx context.Context, texts []string) ([][]float32, error)) Encoder {
	return &function{name: name, dim: dim, embed: embed, unscaled: true}
}

type function struct {
	name     string
	dim      int
	unscaled bool
	embed    func(ctx context.Context, texts []string) ([][]float32, error)
	closed   atomic.Bool
}

// Encode implements Encoder. The function is called only if a vector is requested.
func (f *function) Encode(ctx context.Context, _ Role, in []Input, need Need) ([]Output, error) {
	switch {
	case f.closed.Load():
		return nil, ErrClosed
	case need&NeedHidden != 0:
		return nil, fmt.Errorf("encoder %s: %w", f.name, ErrNoHidden)
	case need&NeedLogits != 0:
		return nil, fmt.Errorf("encoder %s: %w", f.name, ErrNoLogits)
	case f.name == "" || f.dim < 1 || f.embed == nil:
		return nil, fmt.Errorf("%w: encoder.Func(%q, %d, …) needs a name, a positive dimension and a function", ErrContract, f.name, f.dim)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	texts, err := TextsOf(in)
	if err != nil {
		return nil, fmt.Errorf("encoder %s: %w", f.name, err)
	}
	out := make([]Output, len(texts))
	if need == 0 || len(texts) == 0 {
		return out, nil
	}
	vectors, err := f.embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("encoder %s: %w", f.name, err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("encoder %s: %w: %d vectors for %d texts", f.name, ErrContract, len(vectors), len(texts))
	}
	for i, v := range vectors {
		if err := CheckDense(v, f.dim); err != nil {
			return nil, fmt.Errorf("encoder %s: %w", f.name, &TextError{i, err})
		}
		out[i].Dense = slices.Clone(v)
		if !f.unscaled {
			pooling.Normalize(out[i].Dense)
		}
	}
	return out, nil
}

// Tokenize implements Encoder: there are no tokens.
func (f *function) Tokenize(Role, string) Tokens { return Tokens{} }

// Dim implements Encoder.
func (f *function) Dim() int { return f.dim }

// VocabSize implements Encoder: 0, as there are no tokens.
func (f *function) VocabSize() int { return 0 }

// Fingerprint implements Encoder. It has no probe vectors.
func (f *function) Fingerprint() Fingerprint {
	fp := Fingerprint{Model: f.name, Precision: "fp32", Dim: f.dim}
	if f.unscaled {
		fp.Pooling = "unscaled"
	}
	return fp
}

// Close implements Encoder; a second call returns ErrClosed.
func (f *function) Close() error {
	if f.closed.Swap(true) {
		return ErrClosed
	}
	return nil
}
