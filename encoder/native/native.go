// Package native runs text encoders in Go, without cgo and on any platform: BERT, the families derived from
// it, and decoders that were trained as encoders (docs/models.md lists them). Start with [Open]. [OpenCross]
// opens a cross-encoder, which is an engine.Reranker.
//
// One forward pass serves all families: internal/transformer describes the layers, and names.go has the names
// of the weights. A batch is the tokens of its texts one after the other, without padding. A text gets the
// same vectors, bit for bit, whatever else is in its batch.
//
// What holds: an Encoder is safe for concurrent use and stops between two layers of a batch when its context
// ends. Its vectors and those of package onnx are one space to encoder.Check, except those of precision Int8,
// which have a fingerprint of their own. A model that cannot be run is ErrModel.
package native

import (
	"errors"
	"fmt"
	"runtime"
)

// ErrModel is wrapped if this package cannot run the files of a model.
var ErrModel = errors.New("unusable model")

// Options say how a model is run. The zero value suits any model.
type Options struct {
	// Workers is the number of batches that run at the same time, over all calls of Encode. 0 means
	// GOMAXPROCS. Each uses one processor.
	Workers int
	// BatchTokens bounds the tokens of a batch. A longer text makes a batch of its own. 0 means 256.
	BatchTokens int
	// Precision is that of the matrices in memory: FP32 (or "") or Int8. Int8 takes a quarter of the
	// memory and a fraction of the time. Its vectors are close to those of FP32, but form a space of
	// their own: the fingerprint names the model with -int8 after it. They are equal on all kinds
	// of processors, except for the last bits. Attention, normalisation and additions stay float32.
	Precision string
	// MaxTokens overrides the number of tokens at which texts are cut; 0 means the model's own. It
	// changes the vectors of cut texts, and the fingerprint.
	MaxTokens int
	// Late says that few texts are encoded, or none, as by a command: the matrices are read when they are needed.
	Late bool
	// Probes names a file that keeps the model's probe vectors, so that the next Open need not compute them. They are
	// computed anew when a file of the model, the program or the kind of processor has changed. "" is for none.
	Probes string
}

// withDefaults checks o and replaces zero fields by their defaults.
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
