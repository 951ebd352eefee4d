package native

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/reranktest"
	"github.com/lexsem/lexsem/internal/testkit/testmodel"
)

func openCross(t testing.TB, dir string, o Options) *CrossEncoder {
	t.Helper()
	c, err := OpenCross(t.Context(), dir, o)
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
	reranktest.Run(t, reranktest.Options{Pointwise: true}, func(t *testing.T) engine.Reranker { return openCross(t, dir, Options{}) })
}

// Scores are those of the reference, the same bits in any batch, and near to them with
// weights of a byte.
func TestCrosses(t *testing.T) {
	dirs := encoders.Crosses(t)
	for name := range scorings {
		t.Run(name, func(t *testing.T) {
			dir := dirs[name]
			if dir == "" {
				t.Fatal("it is not recorded")
			}
			c, small, int8s := openCross(t, dir, Options{}), openCross(t, dir, Options{Workers: 1, BatchTokens: 1}), openCross(t, dir, Options{Precision: Int8})
			if c.Name() != name {
				t.Errorf("its name is %q", c.Name())
			}
			far := 0.0
			for _, x := range encoders.CrossCases(t, dir) {
				got, err := c.Rerank(t.Context(), x.Query, x.Texts)
				alone, err2 := small.Rerank(t.Context(), x.Query, x.Texts)
				coarse, err3 := int8s.Rerank(t.Context(), x.Query, x.Texts)
				if err := errors.Join(err, err2, err3); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, alone) {
					t.Errorf("%q: scores %v in a batch, %v alone", x.Query, got, alone)
				}
				for i, want := range x.Logits {
					far = max(far, math.Abs(got[i]-want))
					if !(math.Abs(coarse[i]-want) < .2) {
						t.Errorf("%q, %q: score %v with %s, want about %v", x.Query, x.Texts[i], coarse[i], Int8, want)
					}
				}
			}
			t.Logf("largest difference %.2g", far)
			if !(far <= 2e-5) {
				t.Errorf("difference %v to the reference, want 2e-5 or less", far)
			}
		})
	}
}

// What is no cross-encoder, or none that can be run, is refused by name.
func TestCrossRefuses(t *testing.T) {
	dirs := encoders.Crosses(t)
	bert := dirs["bert"]
	gone := func([]byte) []byte { return nil }
	field := func(name string, value any) func([]byte) []byte {
		return func(b []byte) []byte {
			var m map[string]any
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			m[name] = value
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	renamed := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), from, to)) }
	}
	for name, c := range map[string]struct {
		dir  string
		is   error
		says string
	}{
		"an encoder":        {testmodel.Edited(t, bert, "model.safetensors", renamed(`"classifier.weight"`, `"classifies.weight"`)), ErrModel, "no cross-encoder"},
		"no pooler":         {testmodel.Edited(t, bert, "model.safetensors", renamed(`"bert.pooler.dense.weight"`, `"bert.poolen.dense.weight"`)), ErrModel, "pooler.dense.weight"},
		"two labels":        {testmodel.Edited(t, bert, "model.safetensors", renamed(`[1,32]`, `[2,16]`)), ErrModel, "2 labels"},
		"another family":    {testmodel.Edited(t, bert, "config.json", field("model_type", "modernbert")), ErrModel, "modernbert"},
		"unknown family":    {testmodel.Edited(t, bert, "config.json", field("model_type", "deberta")), ErrModel, "deberta"},
		"graph alone":       {testmodel.Edited(t, bert, "model.safetensors", gone), ErrModel, "ONNX Runtime"},
		"no tokenizer":      {testmodel.Edited(t, bert, "tokenizer.json", gone), fs.ErrNotExist, "tokenizer.json"},
		"no pair":           {testmodel.Edited(t, bert, "tokenizer.json", renamed(`"special_tokens"`, `"pair": null, "special_tokens"`)), encoder.ErrTokenizer, "post_processor.pair is missing"},
		"types":             {testmodel.Edited(t, bert, "tokenizer.json", renamed(`"type_id": 1`, `"type_id": 2`)), ErrModel, "3 types, the model has 2"},
		"too long":          {testmodel.Edited(t, bert, "lexsem-model.json", func([]byte) []byte { return []byte(`{"max_tokens":65}`) }), ErrModel, "65 tokens a pair"},
		"too short":         {testmodel.Edited(t, bert, "lexsem-model.json", func([]byte) []byte { return []byte(`{"max_tokens":3}`) }), encoder.ErrTokenizer, "3 of a pair are special"},
		"wrong description": {testmodel.Edited(t, bert, "lexsem-model.json", func([]byte) []byte { return []byte(`{"max_tokens":-1}`) }), encoder.ErrSpec, "max_tokens is -1"},
		"cut weights":       {testmodel.Edited(t, bert, "model.safetensors", func(b []byte) []byte { return b[:len(b)/2] }), ErrModel, ""},
		"no folder":         {filepath.Join(t.TempDir(), "none"), fs.ErrNotExist, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := OpenCross(t.Context(), c.dir, Options{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.is, c.says)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenCross(ctx, bert, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	c, err := OpenCross(t.Context(), testmodel.Edited(t, bert, "lexsem-model.json", func([]byte) []byte { return []byte(`{"model":"mine","max_tokens":20}`) }), Options{})
	if err != nil || c.Name() != "mine" {
		t.Fatalf("%v, %v", c, err)
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
