package encoder

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// Impact is the weight of a word of a vocabulary in a text, above 0, as a model like SPLADE gives it. The word need not
// stand in the text.
type Impact struct {
	Term   int32
	Weight float32
}

// SparseMark stands in the name of an encoder of WithSparse between the names of its two models.
const SparseMark = "+splade:"

// WithSparse returns an encoder that gives vectors and tokens as dense does, and for NeedImpacts the weights of words of
// sparse, which has logits (NeedLogits): Output.Impacts has log(1 + ReLU(logit)) of each word of its vocabulary where
// that is above 0. A database then also finds passages by the inner product of these weights. Close closes both.
// Error: ErrContract for a model of images.
func WithSparse(dense, sparse Encoder) (Encoder, error) {
	for _, e := range []Encoder{dense, sparse} {
		if f := e.Fingerprint(); f.Media != "" || f.Sparse != nil {
			return nil, fmt.Errorf("%w: %s cannot be one of two models of a text; use a model of texts alone", ErrContract, f.Model)
		}
	}
	return withSparse{dense, sparse}, nil
}

type withSparse struct {
	Encoder
	sparse Encoder
}

// sparseTexts is how many texts are weighed at once: each has a number for every word of the vocabulary.
const sparseTexts = 32

// Encode implements Encoder.
func (e withSparse) Encode(ctx context.Context, role Role, in []Input, need Need) (out []Output, err error) {
	if need == NeedImpacts {
		out = make([]Output, len(in))
		for i := range in {
			out[i].Tokens = e.Tokenize(role, in[i].Text)
		}
	} else if out, err = e.Encoder.Encode(ctx, role, in, need&^NeedImpacts); err != nil {
		return nil, err
	}
	if need&NeedImpacts == 0 || len(in) == 0 {
		return out, nil
	}
	for at := 0; at < len(in); at += sparseTexts {
		part, err := e.sparse.Encode(ctx, role, in[at:min(at+sparseTexts, len(in))], NeedLogits)
		if err != nil {
			return nil, fmt.Errorf("weighing words by %s: %w", e.sparse.Fingerprint().Model, err)
		}
		for i, o := range part {
			out[at+i].Impacts = impactsOf(o.Logits)
		}
	}
	return out, nil
}

// impactsOf returns the weights above 0 of logits, by term.
func impactsOf(logits []float32) (is []Impact) {
	for term, x := range logits {
		if x > 0 {
			is = append(is, Impact{int32(term), float32(math.Log1p(float64(x)))})
		}
	}
	return is
}

// Fingerprint implements Encoder.
func (e withSparse) Fingerprint() Fingerprint {
	f, s := e.Encoder.Fingerprint(), e.sparse.Fingerprint()
	f.Model, f.Sparse = f.Model+SparseMark+s.Model, &s
	return f
}

// Close implements Encoder.
func (e withSparse) Close() error {
	err := e.Encoder.Close()
	if other := e.sparse.Close(); err == nil {
		err = other
	}
	return err
}

// Window is what dense prefers.
func (e withSparse) Window() int {
	if w, ok := e.Encoder.(interface{ Window() int }); ok {
		return w.Window()
	}
	return 0
}

// Token is the entry of dense's vocabulary, "" if it does not tell.
func (e withSparse) Token(id int32) string {
	if t, ok := e.Encoder.(interface{ Token(int32) string }); ok {
		return t.Token(id)
	}
	return ""
}

// SplitSparse splits the name of an encoder of WithSparse into those of its two models; sparse is "" for other names.
func SplitSparse(name string) (dense, sparse string) {
	dense, sparse, _ = strings.Cut(name, SparseMark)
	return dense, sparse
}
