//go:build !cgo

package onnx

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestOpenWithoutCgo(t *testing.T) {
	if _, err := Open(t.Context(), t.TempDir(), Options{}); !errors.Is(err, encoder.ErrUnavailable) {
		t.Errorf("%v does not wrap ErrUnavailable", err)
	}
	if _, err := OpenCross(t.Context(), t.TempDir(), Options{}); !errors.Is(err, encoder.ErrUnavailable) {
		t.Errorf("%v does not wrap ErrUnavailable", err)
	}
}
