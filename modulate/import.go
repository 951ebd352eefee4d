package modulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/safetensors"
	"github.com/lexsem/lexsem/internal/vec"
)

// encoderKey is the metadata key of a safetensors file under which Import finds the encoder of the
// bridge, an encoder.Fingerprint as JSON.
const encoderKey = "lexsem.encoder"

// Import reads a bridge that was trained elsewhere from a safetensors file. stack must have
// exactly one multiplicative part. Tensors have type F32, F16, BF16 or F64:
//
//	linear.weight  [d × |V|]      W
//	linear.bias    [d]            b of Eq. 8, optional
//	U              [d] or [1 × d] for llr; [|V| × d] or [d × |V|] for llr-full, clr
//	b              [1] or [|V|]   one number for each row of U, optional, 0 if missing
//
// A name may have one prefix that ends in a dot, as in "model.linear.weight". The encoder is that
// of the metadata encoderKey, else trust, which the caller guarantees. ErrNoEncoder if both are
// missing; ErrCorrupt for damage and wrong shapes; ErrOptions for other stacks. Passages and
// Queries of the result are 0. Memory O(d·|V|).
func Import(path, stack string, trust encoder.Fingerprint) (*Weights, error) {
	s, err := ParseStack(stack)
	if err != nil {
		return nil, err
	}
	var part *Variant
	for i, v := range s.parts {
		if v.Kind == Multiplicative {
			if part != nil {
				return nil, fmt.Errorf("%w: %s has two fitted parts, a file one; import them one by one", ErrOptions, s.name)
			}
			part = &s.parts[i]
		}
	}
	if part == nil {
		return nil, fmt.Errorf("%w: %s has no fitted part to import; name one such as slr", ErrOptions, s.name)
	}
	f, err := safetensors.Open(path)
	switch {
	case errors.Is(err, safetensors.ErrFormat):
		return nil, fmt.Errorf("%w: import: %w", ErrCorrupt, err)
	case err != nil:
		return nil, fmt.Errorf("import: %w", err)
	}
	defer f.Close()
	w := &Weights{Stack: s.name, Encoder: trust}
	if text, ok := f.Metadata[encoderKey]; ok {
		w.Encoder = encoder.Fingerprint{}
		if err := json.Unmarshal([]byte(text), &w.Encoder); err != nil {
			return nil, fmt.Errorf("%w: import %s: metadata %s: %w", ErrCorrupt, path, encoderKey, err)
		}
	} else if trust.Dim == 0 {
		return nil, fmt.Errorf("%w: import %s: it has no metadata %s and so does not say which encoder it belongs to; write it there, or vouch for the encoder", ErrNoEncoder, path, encoderKey)
	}
	in := importer{f, w.Encoder.Dim, w.Encoder.VocabSize}
	if in.dim < 1 || in.dim > maxDim || in.vocab < 1 || in.vocab > maxVocab {
		return nil, fmt.Errorf("%w: import %s: an encoder of dimension %d and %d tokens", ErrCorrupt, path, in.dim, in.vocab)
	}
	if w.Projection, err = in.projection(); err == nil && part.Start != nil {
		var h *Head
		if h, err = in.head(part.Name); err == nil {
			w.Heads = map[string]*Head{part.Name: h}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: import %s: %w", ErrCorrupt, path, err)
	}
	w.RLR, err = checkRLR(s, RLROptions{})
	return w, err
}

// importer reads the tensors of a bridge.
type importer struct {
	f          *safetensors.File
	dim, vocab int
}

// find returns the name of the tensor in the file, or "" if it does not exist.
func (in importer) find(name string) (string, error) {
	if _, ok := in.f.Tensors[name]; ok {
		return name, nil
	}
	found := ""
	for n := range in.f.Tensors {
		if strings.HasSuffix(n, "."+name) {
			if found != "" {
				return "", fmt.Errorf("tensors %q and %q could both be %s; keep one", min(found, n), max(found, n), name)
			}
			found = n
		}
	}
	return found, nil
}

// matrix reads a tensor as rows × cols, and transposes it if needed; nil if it does not exist.
func (in importer) matrix(name string, rows, cols int) ([]float32, error) {
	at, err := in.find(name)
	if err != nil || at == "" {
		return nil, err
	}
	shape := in.f.Tensors[at].Shape
	r, c := int64(rows), int64(cols)
	is := func(want ...int64) bool { return slices.Equal(shape, want) }
	straight := is(r, c) || r == 1 && is(c) || c == 1 && is(r)
	if !straight && !is(c, r) {
		return nil, fmt.Errorf("tensor %q has the shape %v, want [%d %d]", at, shape, rows, cols)
	}
	x, err := in.f.Floats(at)
	if err != nil {
		return nil, err
	}
	if !vec.Finite(x) {
		return nil, fmt.Errorf("tensor %q holds numbers that are not finite", at)
	}
	if straight {
		return x, nil
	}
	y := make([]float32, len(x))
	for i := range cols {
		for j := range rows {
			y[j*cols+i] = x[i*rows+j]
		}
	}
	return y, nil
}

// projection reads W and b of Eq. 8. Tokens whose column is zero get no row.
func (in importer) projection() (*Projection, error) {
	if in.dim == in.vocab {
		return nil, fmt.Errorf("dimension and vocabulary are both %d, so which is which cannot be told", in.dim)
	}
	w, err := in.matrix("linear.weight", in.vocab, in.dim)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, fmt.Errorf("no tensor linear.weight")
	}
	p, err := NewProjection(in.dim, in.vocab)
	if err != nil {
		return nil, err
	}
	for t := range in.vocab {
		row := w[t*in.dim : (t+1)*in.dim]
		if !slices.ContainsFunc(row, func(x float32) bool { return x != 0 }) {
			continue
		}
		if err := p.Touch(int32(t)); err != nil {
			return nil, err
		}
		copy(p.rows[len(p.rows)-in.dim:], row)
	}
	b, err := in.matrix("linear.bias", 1, in.dim)
	if err == nil && b != nil {
		err = p.SetBias(b)
	}
	return p, err
}

// head reads the parameters of variant: one row for all tokens (llr), or one for each token.
func (in importer) head(variant string) (*Head, error) {
	rows := in.vocab
	if variant == llr.Name {
		rows = 1
	}
	h := &Head{}
	var err error
	if h.U, err = in.matrix("U", rows, in.dim); err != nil {
		return nil, err
	}
	if h.U == nil {
		return nil, fmt.Errorf("no tensor U, which %s needs", variant)
	}
	if h.B, err = in.matrix("b", 1, rows); err != nil {
		return nil, err
	}
	if h.B == nil {
		h.B = make([]float32, rows)
	}
	if rows > 1 {
		h.Tokens = make([]int32, rows)
		for t := range h.Tokens {
			h.Tokens[t] = int32(t)
		}
	}
	if variant == llrFull.Name {
		h.Near = h.nearest(llrNear)
	}
	return h, h.check(in.dim, in.vocab)
}
