//go:build cgo

package onnx_test

import (
	"context"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/encoder/provision"
)

func TestOpen(t *testing.T) {
	r, err := provision.Ensure(t.Context(), provision.Request{Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	e, err := onnx.Open(context.Background(), r.ModelDir, onnx.Options{Library: r.Library})
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Encode(t.Context(), encoder.Query, []string{"hello world", ""}, encoder.NeedDense)
	t.Log(o, err)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
