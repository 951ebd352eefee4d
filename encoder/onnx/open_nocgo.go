//go:build !cgo

package onnx

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
)

// Encoder cannot exist in a build without cgo.
type Encoder struct{ encoder.Encoder }

// Open returns an error that wraps encoder.ErrUnavailable.
func Open(context.Context, string, Options) (*Encoder, error) {
	return nil, unavailable("this program was built without cgo; build it with CGO_ENABLED=1 and a C compiler on PATH")
}

// Images cannot exist in a build without cgo.
type Images struct{ encoder.Encoder }

// OpenImages returns an error that wraps encoder.ErrUnavailable.
func OpenImages(context.Context, string, Options) (*Images, error) {
	return nil, unavailable("this program was built without cgo; build it with CGO_ENABLED=1 and a C compiler on PATH")
}

// CrossEncoder cannot exist in a build without cgo.
type CrossEncoder struct{}

// OpenCross returns an error that wraps encoder.ErrUnavailable.
func OpenCross(context.Context, string, Options) (*CrossEncoder, error) {
	return nil, unavailable("this program was built without cgo; build it with CGO_ENABLED=1 and a C compiler on PATH")
}

// Name implements engine.Reranker.
func (*CrossEncoder) Name() string { return "" }

// Rerank implements engine.Reranker.
func (*CrossEncoder) Rerank(context.Context, string, []string) ([]float64, error) {
	return nil, encoder.ErrClosed
}

// Close returns encoder.ErrClosed.
func (*CrossEncoder) Close() error { return encoder.ErrClosed }
