//go:build cgo

package onnx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/testmodel"
)

// A CLIP gives texts, one at a time, together and between images, the vectors that the reference
// computes, beside those of images.
func TestTextTower(t *testing.T) {
	dir := visions(t)["clip"]
	e := openImages(t, dir, onnx.Options{BatchTokens: 20, Workers: 2})
	defer e.Close()
	if f := e.Fingerprint(); f.Dim != 6 || f.States() != 8 || f.Pooling != "projected" || f.VocabSize != 0 || f.Media != encoder.MediaImages {
		t.Errorf("%+v", f)
	}
	var cases []struct {
		Text  string
		Dense []float32
	}
	b, err := os.ReadFile(filepath.Join(dir, "texts.json"))
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil || len(cases) != 4 {
		t.Fatal(len(cases), err)
	}
	picture := encoders.Images(t, 1)[0]
	alone, err := e.Encode(t.Context(), encoder.Query, []encoder.Input{picture}, encoder.NeedDense|encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	in := []encoder.Input{picture}
	for _, c := range cases {
		in = append(in, encoder.Input{Text: c.Text}, picture)
	}
	out, err := e.Encode(t.Context(), encoder.Query, in, encoder.NeedDense|encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		o := out[2*i+1]
		if d := encoders.Distance(o.Dense, c.Dense); !(d <= 1e-5) || o.Hidden != nil || len(o.Tokens.IDs) > 0 {
			t.Errorf("%q: vector differs by %v, %d numbers of states, %d tokens", c.Text, d, len(o.Hidden), len(o.Tokens.IDs))
		}
		one, err := e.Encode(t.Context(), encoder.Query, encoder.Texts(c.Text), encoder.NeedDense)
		if err != nil || encoders.Distance(one[0].Dense, c.Dense) > 1e-5 {
			t.Errorf("%q alone: %v", c.Text, err)
		}
		if o := out[2*i]; encoders.Distance(o.Dense, alone[0].Dense) > 1e-6 || encoders.Distance(o.Hidden, alone[0].Hidden) > 1e-6 {
			t.Errorf("the image before %q is another than alone", c.Text)
		}
	}
	if out, err = e.Encode(t.Context(), encoder.Query, in, encoder.NeedHidden); err != nil || out[1].Dense != nil {
		t.Errorf("states alone: %v", err)
	}

	// A database holds images: texts are queries alone.
	var at *encoder.TextError
	if _, err := e.Encode(t.Context(), encoder.Passage, in, encoder.NeedDense); !errors.Is(err, encoder.ErrMedia) || !errors.As(err, &at) || at.Text != 1 {
		t.Errorf("a text as a passage: %v", err)
	}
}

func TestTextTowerConformance(t *testing.T) {
	dir := visions(t)["clip"]
	encodertest.RunImages(t, func(t *testing.T) encoder.Encoder {
		return openImages(t, dir, onnx.Options{BatchTokens: 40, Workers: 2})
	})
	encodertest.RunImages(t, func(t *testing.T) encoder.Encoder { return encoders.NewTowers(5, 9) })
}

// Without its text tower a CLIP is an encoder of images as others are.
func TestImageTowerAlone(t *testing.T) {
	dir := testmodel.Edited(t, visions(t)["clip"], "text_model.onnx", func([]byte) []byte { return nil })
	e := openImages(t, dir, onnx.Options{})
	defer e.Close()
	if f := e.Fingerprint(); f.Dim != 6 || f.Pooling != "projected" {
		t.Errorf("%+v", f)
	}
	if _, err := e.Encode(t.Context(), encoder.Query, encoder.Texts("a red square"), encoder.NeedDense); !errors.Is(err, encoder.ErrMedia) {
		t.Errorf("a text: %v", err)
	}
}

func TestTextTowerRefused(t *testing.T) {
	dir := visions(t)["clip"]
	set := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte {
			out := bytes.ReplaceAll(b, []byte(from), []byte(to))
			if bytes.Equal(out, b) {
				t.Errorf("%q is not there", from)
			}
			return out
		}
	}
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte
		want       error
		says       string
	}{
		{"no tokenizer", "tokenizer.json", func([]byte) []byte { return nil }, fs.ErrNotExist, "needs the tokenizer"},
		{"damaged tokenizer", "tokenizer.json", set(`"BPE"`, `"BPF"`), encoder.ErrTokenizer, ""},
		{"longer vocabulary", "tokenizer.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"vocab": {`), []byte(`"vocab": {"zzz</w>": 5000,`), 1)
		}, onnx.ErrModel, "does not take"},
		{"damaged graph", "text_model.onnx", func(b []byte) []byte { return b[:len(b)/2] }, onnx.ErrModel, "fetch the model again"},
		{"other input", "text_model.onnx", set("input_ids", "input_idz"), onnx.ErrModel, "input_idz"},
		{"other output", "text_model.onnx", set("text_embeds", "text_embedz"), onnx.ErrModel, "text_embeds [batch, 6]"},
		{"no length", "config.json", set(`"max_position_embeddings": 10`, `"max_position_embeddings": 1`), modelspec.ErrSpec, "max_position_embeddings"},
		{"more than it takes", "config.json", set(`"max_position_embeddings": 10`, `"max_position_embeddings": 11`), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := onnx.OpenImages(t.Context(), testmodel.Edited(t, dir, c.file, c.change), onnx.Options{Library: provisioned(t).Library})
			if err == nil {
				defer e.Close()
				_, err = e.Encode(t.Context(), encoder.Query, encoder.Texts(strings.Repeat("red ", 20)), encoder.NeedDense)
				if c.want == nil {
					c.want = onnx.ErrModel
				}
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", err, c.want, c.says)
			}
		})
	}
}
