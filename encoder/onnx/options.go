// Package onnx runs an encoder model with ONNX Runtime. It is the only
// package of the module that needs cgo; built without, Open answers an error
// that wraps encoder.ErrUnavailable.
//
// Speed comes from the shape of the batches, not from threads inside the
// runtime: texts are sorted by length and packed into batches of at most
// Options.BatchTokens cells (rows × longest row), small enough that the
// activations stay in the processor's cache, and several goroutines run
// batches on one shared session whose own thread pool is off. A pool inside
// the runtime spins while it waits and so wastes a busy machine's time.
package onnx

import (
	"fmt"
	"runtime"

	"github.com/lexsem/lexsem/encoder"
)

// Options say how a model is run. The zero value runs any model well.
type Options struct {
	// Library is the path of libonnxruntime, of version 1.24 or newer. It must
	// be the same in all calls of a process.
	Library string
	// Workers is the number of batches that run at the same time, over all
	// calls of Encode; 0 means GOMAXPROCS. Each takes one processor.
	Workers int
	// BatchTokens bounds rows × longest row of a batch; a single longer text
	// makes a batch of its own. 0 means 512.
	BatchTokens int
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
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BatchTokens == 0 {
		o.BatchTokens = 512
	}
	return o, nil
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", encoder.ErrUnavailable, fmt.Errorf(format, args...))
}
