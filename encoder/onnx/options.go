// Package onnx runs models with ONNX Runtime: text encoders ([Open]), vision transformers ([OpenImages]) and
// cross-encoders for reranking ([OpenCross]). It is the only package of the module that needs cgo. Built
// without cgo, all three return an error that wraps encoder.ErrUnavailable.
//
// Texts are sorted by length and packed into batches of at most Options.BatchTokens cells (rows × longest
// row), small enough for the processor's cache. Several goroutines run batches in one session, whose own
// thread pool is off: a pool inside the runtime spins while it waits.
//
// What holds: an Encoder is safe for concurrent use and stops between two batches when its context ends. A
// model that cannot be run is ErrModel.
package onnx

import (
	"fmt"
	"runtime"

	"github.com/lexsem/lexsem/encoder"
)

// Options say how a model is run. The zero value suits any model.
type Options struct {
	// Library is the path of libonnxruntime, version 1.24 or newer. It must be the same in all calls
	// of a process.
	Library string
	// Workers is the number of batches that run at the same time, over all calls of Encode. 0 means
	// GOMAXPROCS. Each uses one processor.
	Workers int
	// BatchTokens bounds rows × longest row of a batch. A longer text makes a batch of its own. 0
	// means 512.
	BatchTokens int
	// MaxTokens overrides the number of tokens at which texts are cut; 0 means the model's own. It
	// changes the vectors of cut texts, and the fingerprint.
	MaxTokens int
	// Late says that perhaps no text is encoded: if Probes has the probe vectors, the model is read with the first text.
	// OpenCross and OpenImages ignore it.
	Late bool
	// Probes names a file that keeps the model's probe vectors, so that the next Open need not compute them. They are
	// computed anew when a file of the model, the library, the program or the kind of processor has changed. "" is for
	// none.
	Probes string
}

// withDefaults checks o and replaces zero fields by their defaults.
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
