//go:build !cgo

package onnx

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
)

// Encoder cannot exist in a build without cgo.
type Encoder struct{ encoder.Encoder }

// Open answers an error that wraps encoder.ErrUnavailable.
func Open(context.Context, string, Options) (*Encoder, error) {
	return nil, unavailable("this program was built without cgo; build it with CGO_ENABLED=1 and a C compiler on PATH")
}
