package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/internal/yield"
)

// Checked checks the output of an encoder as store and index need it: a vector without a direction could be
// stored but never indexed.
type Checked struct {
	encoder.Encoder
	Metric metric.Metric // of the database that its vectors are for
}

// Encode implements encoder.Encoder. It gives the encoder equal texts once. A call whose context ends returns at once; its
// batch ends by itself in the background. A panic is an encoder.ErrContract.
func (c Checked) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	distinct, at := once(in)
	got, err := c.encode(ctx, role, distinct, need)
	if len(distinct) == len(in) {
		return got, err
	}
	if one, ok := errors.AsType[*encoder.TextError](err); ok {
		if first := slices.Index(at, one.Text); first >= 0 {
			err = &encoder.TextError{Text: first, Err: one.Err}
		}
	}
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(in))
	for i, k := range at {
		o := got[k]
		o.Dense, o.Hidden, o.Logits, o.Impacts = slices.Clone(o.Dense), slices.Clone(o.Hidden), slices.Clone(o.Logits), slices.Clone(o.Impacts)
		t := &o.Tokens
		t.IDs, t.Special, t.Offsets = slices.Clone(t.IDs), slices.Clone(t.Special), slices.Clone(t.Offsets)
		out[i] = o
	}
	return out, nil
}

// once returns the inputs without texts that came before, and the position there of each input.
func once(in []encoder.Input) (distinct []encoder.Input, at []int) {
	first := make(map[string]int, len(in))
	at = make([]int, len(in))
	for i, x := range in {
		k, again := first[x.Text]
		if !again || !x.IsText() {
			k, distinct = len(distinct), append(distinct, x)
		}
		if at[i] = k; x.IsText() {
			first[x.Text] = k
		}
	}
	return distinct, at
}

// encode is Encode for different texts.
func (c Checked) encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := yield.Leave(ctx, func() (_ []encoder.Output, err error) {
		defer fault.Recovered(&err, encoder.ErrContract)
		return c.Encoder.Encode(ctx, role, in, need)
	})
	if err != nil {
		return nil, err
	}
	if len(out) != len(in) {
		return nil, fmt.Errorf("%w: %d outputs for %d inputs", encoder.ErrContract, len(out), len(in))
	}
	dim, vocab := c.Dim(), c.VocabSize()
	for i, o := range out {
		if need&encoder.NeedDense != 0 {
			if err = encoder.CheckDense(o.Dense, dim); err == nil && c.Metric.Check(o.Dense) != nil {
				err = fmt.Errorf("%w: %w", encoder.ErrContract, c.Metric.Check(o.Dense))
			}
			if err == nil && c.Metric.Directions() {
				unit(o.Dense)
			}
		}
		for _, id := range o.Tokens.IDs {
			if id < 0 || int(id) >= vocab {
				err = fmt.Errorf("%w: token %d of a vocabulary of %d", encoder.ErrContract, id, vocab)
			}
		}
		if err != nil {
			return nil, &encoder.TextError{Text: i, Err: err}
		}
	}
	return out, nil
}

// unit gives a vector length 1, which modulation counts on, unless it has that length up to rounding. Models that were
// trained for dot products give others.
func unit(v []float32) {
	if d := vec.Dot(v, v); d < 0.999 || d > 1.001 {
		vec.Normalize(v)
	}
}

// Token is the vocabulary entry of a token, or "" if the encoder, which may be a Checked, does not know it.
func Token(enc encoder.Encoder, id int32) string {
	c, _ := enc.(Checked)
	if t, ok := c.Encoder.(interface{ Token(int32) string }); ok {
		return t.Token(id)
	}
	return ""
}

// Lent is an encoder that belongs to another owner: its user cannot close it.
type Lent struct{ encoder.Encoder }

// Close does nothing.
func (Lent) Close() error { return nil }

// CheckEncoder refuses an encoder that cannot fill a database: its stored description must distinguish it
// from others at the next opening.
func CheckEncoder(enc encoder.Encoder) error {
	f := enc.Fingerprint()
	switch {
	case f.Model == "":
		return fmt.Errorf("%w: its fingerprint has no model name", encoder.ErrContract)
	case f.Dim != enc.Dim() || f.Dim < 1 || f.Dim > limit.Dim:
		return fmt.Errorf("%w: %s has the dimension %d, and %d in its fingerprint; use one of 1 to %d", encoder.ErrContract, f.Model, enc.Dim(), f.Dim, limit.Dim)
	case f.VocabSize != enc.VocabSize() || f.VocabSize < 0:
		return fmt.Errorf("%w: %s has %d token ids, and %d in its fingerprint", encoder.ErrContract, f.Model, enc.VocabSize(), f.VocabSize)
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

// maxVocab bounds the vocabulary of an encoder, far above any existing one: tables of all tokens are kept in
// memory, so a manifest must not demand huge ones.
const maxVocab = 1 << 24

// CheckShape returns the reason why an encoder's fingerprint cannot belong to a database with vectors of
// length dim, or nil.
func CheckShape(fp encoder.Fingerprint, dim int) error {
	switch {
	case fp.Dim < 1 || fp.Dim > limit.Dim:
		return fmt.Errorf("an encoder of %d dimensions, where 1 to %d are possible", fp.Dim, limit.Dim)
	case fp.Dim != dim:
		return fmt.Errorf("an encoder of %d dimensions and vectors of %d", fp.Dim, dim)
	case fp.VocabSize < 0 || fp.VocabSize > maxVocab:
		return fmt.Errorf("an encoder of %d tokens, where up to %d are possible", fp.VocabSize, maxVocab)
	}
	return nil
}
