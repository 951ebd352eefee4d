//go:build cgo

package onnx_test

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/reranktest"
	"github.com/lexsem/lexsem/internal/testkit/testmodel"
)

func openCross(t *testing.T, dir string, o onnx.Options) *onnx.CrossEncoder {
	t.Helper()
	o.Library = provisioned(t).Library
	c, err := onnx.OpenCross(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestCrossConformance(t *testing.T) {
	dir := encoders.Crosses(t)["bert"]
	reranktest.Run(t, reranktest.Options{Pointwise: true}, func(t *testing.T) engine.Reranker { return openCross(t, dir, onnx.Options{}) })
}

// Scores are those of the reference, in batches of any shape.
func TestCross(t *testing.T) {
	dir := encoders.Crosses(t)["bert"]
	for _, o := range []onnx.Options{{}, {Workers: 1, BatchTokens: 1}, {Workers: 3, BatchTokens: 4096}} {
		c := openCross(t, dir, o)
		far := 0.0
		for _, x := range encoders.CrossCases(t, dir) {
			got, err := c.Rerank(t.Context(), x.Query, x.Texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range x.Logits {
				far = max(far, math.Abs(got[i]-want))
			}
		}
		t.Logf("%+v: largest difference %.2g", o, far)
		if !(far <= 2e-5) || c.Name() != "bert" {
			t.Errorf("%+v: %s differs by %v from the reference, want 2e-5 or less", o, c.Name(), far)
		}
	}
}

// What is no cross-encoder is refused by name.
func TestCrossRefuses(t *testing.T) {
	r := provisioned(t)
	bert := encoders.Crosses(t)["bert"]
	edited := func(name string, change func(string) string) string {
		return testmodel.Edited(t, bert, name, func(b []byte) []byte { return []byte(change(string(b))) })
	}
	for name, c := range map[string]struct {
		dir  string
		is   error
		says string
	}{
		"an encoder": {r.ModelDir, onnx.ErrModel, "no output logits [batch, 1]"},
		"no graph":   {encoders.Crosses(t)["roberta"], fs.ErrNotExist, "model.onnx"},
		"more words": {edited("tokenizer.json", func(s string) string { return strings.Replace(s, `"vocab": {`, `"vocab": {"zzzz": 102, `, 1) }), onnx.ErrModel, "the id 102"},
		"no pair": {edited("tokenizer.json", func(s string) string {
			return strings.Replace(s, `"special_tokens"`, `"pair": null, "special_tokens"`, 1)
		}), encoder.ErrTokenizer, "post_processor.pair"},
		"cut graph":    {edited("model.onnx", func(s string) string { return s[:len(s)/2] }), onnx.ErrModel, ""},
		"other output": {edited("model.onnx", func(s string) string { return strings.ReplaceAll(s, "logits", "logitz") }), onnx.ErrModel, "no output logits"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := onnx.OpenCross(t.Context(), c.dir, onnx.Options{Library: r.Library}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.is, c.says)
			}
		})
	}
	if _, err := onnx.OpenCross(t.Context(), bert, onnx.Options{}); !errors.Is(err, encoder.ErrUnavailable) {
		t.Errorf("without a library: %v", err)
	}
	c, err := onnx.OpenCross(t.Context(), bert, onnx.Options{Library: r.Library})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Rerank(t.Context(), "a", []string{"b"}); !errors.Is(err, encoder.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := c.Close(); !errors.Is(err, encoder.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}
