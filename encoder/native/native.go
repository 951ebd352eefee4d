// Package native runs text encoders in Go: BERT and the families that came of it, and
// decoders that were made encoders (docs/models.md lists them); no cgo, no library, any
// platform. Its vectors and those of package onnx are one encoder to
// [encoder.Check].
//
// There is one forward pass. What a layer has of it (which normalisations, a table
// of positions or rotations, a gate, groups of heads, a window, order) is said by
// internal/transformer, and by what names a family calls its weights in names.go.
//
// Speed comes from computing nothing in vain. A batch is the texts' tokens one
// after the other, without padding; all its rows go through one product with
// each matrix of a layer, whose panels were packed when the model was opened,
// and what follows the product (bias and activation) is done on each block
// while it is in the cache. Attention alone is computed text by text. A text's
// vectors are the same bit for bit whatever else is in its batch.
package native

import (
	"errors"
	"fmt"
	"runtime"
)

// ErrModel is wrapped where a model's files cannot be run by this package.
var ErrModel = errors.New("unusable model")

// Int8Suffix stands behind the name of a model in the fingerprint of an encoder
// of precision Int8.
const Int8Suffix = "-int8"

// Options say how a model is run. The zero value runs any model well.
type Options struct {
	// Workers is the number of batches that run at the same time, over all
	// calls of Encode; 0 means GOMAXPROCS. Each takes one processor.
	Workers int
	// BatchTokens bounds the tokens of a batch; a single longer text makes a
	// batch of its own. 0 means 256.
	BatchTokens int
	// Precision is that of the matrices in memory: FP32, which "" means, or Int8.
	// Int8 takes a quarter of the memory and a fraction of the time, and gives
	// vectors next to those of FP32 but of a space of their own: the fingerprint
	// names the model with Int8Suffix behind it. They are the same on processors
	// of every kind but for the last bits. Attention, normalisation and what is
	// added stay float32.
	Precision string
	// MaxTokens overrides the number of tokens that texts are cut at; 0 means
	// the model's own. Vectors of cut texts change with it, and so does the
	// fingerprint.
	MaxTokens int
}

// withDefaults checks o and fills in what is zero.
func (o Options) withDefaults() (Options, error) {
	if o.Workers < 0 || o.BatchTokens < 0 || o.MaxTokens < 0 || o.MaxTokens == 1 || o.MaxTokens == 2 {
		return o, fmt.Errorf("workers %d, batch tokens %d, max tokens %d: none may be negative, and max tokens must be 0 or at least 3",
			o.Workers, o.BatchTokens, o.MaxTokens)
	}
	switch o.Precision {
	case "":
		o.Precision = FP32
	case FP32, Int8:
	default:
		return o, fmt.Errorf("precision %q: use %s or %s", o.Precision, FP32, Int8)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BatchTokens == 0 {
		o.BatchTokens = 256
	}
	return o, nil
}
