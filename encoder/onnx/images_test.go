//go:build cgo

package onnx_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/testmodel"
)

// visions are the folders that testdata/record_images.py writes, by name.
func visions(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/vision.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dirs := testmodel.Unpack(t, f)
	if len(dirs) < 6 {
		t.Fatalf("%d models", len(dirs))
	}
	return dirs
}

func openImages(t *testing.T, dir string, o onnx.Options) *onnx.Images {
	t.Helper()
	o.Library = provisioned(t).Library
	e, err := onnx.OpenImages(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Each family gives the states of its patches, and the vector, that the reference computes of the
// same files.
func TestVisionFamilies(t *testing.T) {
	for name, dir := range visions(t) {
		t.Run(name, func(t *testing.T) {
			e := openImages(t, dir, onnx.Options{})
			defer e.Close()
			type Case struct {
				File   []byte
				Hidden []float32
				Dense  []float32
			}
			for i, c := range testmodel.Cases[Case](t, dir, 3) {
				out, err := e.Encode(t.Context(), encoder.Passage, []encoder.Input{{Media: "image/png", Data: c.File}}, encoder.NeedDense|encoder.NeedHidden)
				if err != nil {
					t.Fatal(err)
				}
				if d := encoders.Distance(out[0].Dense, c.Dense); !(d <= 1e-5) {
					t.Errorf("vector of image %d differs by %v", i, d)
				}
				if d := encoders.Distance(out[0].Hidden, c.Hidden); !(d <= 2e-5) {
					t.Errorf("states of image %d differ by %v", i, d)
				}
			}
		})
	}
}

func TestVisionConformance(t *testing.T) {
	dirs := visions(t)
	for _, name := range []string{"vit", "beit", "dinov2_with_registers"} {
		t.Run(name, func(t *testing.T) {
			encodertest.RunImages(t, func(t *testing.T) encoder.Encoder {
				return openImages(t, dirs[name], onnx.Options{BatchTokens: 40, Workers: 2})
			})
		})
	}
}

func TestVisionRefused(t *testing.T) {
	dir := visions(t)["vit"]
	set := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte {
			out := bytes.Replace(b, []byte(from), []byte(to), 1)
			if bytes.Equal(out, b) {
				t.Errorf("%q is not there", from)
			}
			return out
		}
	}
	gone := func([]byte) []byte { return nil }
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte
		want       error
		says       string
	}{
		{"no config", "config.json", gone, fs.ErrNotExist, ""},
		{"no preprocessing", picture.ConfigFile, gone, fs.ErrNotExist, ""},
		{"no graph", "model.onnx", gone, fs.ErrNotExist, "model.onnx"},
		{"other family", "config.json", set(`"vit"`, `"convnext"`), encoder.ErrSpec, "known are vit"},
		{"damaged config", "config.json", set(`{`, `[`), encoder.ErrSpec, ""},
		{"no patches", "config.json", set(`"patch_size": 4`, `"patch_size": 0`), encoder.ErrSpec, "patch_size is 0"},
		{"other patches", "config.json", set(`"patch_size": 4`, `"patch_size": 5`), encoder.ErrSpec, "do not cover"},
		{"more patches", "config.json", set(`"patch_size": 4`, `"patch_size": 2`), onnx.ErrModel, "states"},
		{"more states in front", "config.json", set(`"vit"`, `"deit"`), onnx.ErrModel, "states"},
		{"other preprocessing", picture.ConfigFile, set("ViTImage", "NoImage"), picture.ErrConfig, "known are"},
		{"damaged graph", "model.onnx", func(b []byte) []byte { return b[:len(b)/2] }, onnx.ErrModel, "fetch the model again"},
		{"other input", "model.onnx", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("pixel_values"), []byte("pixel_valuez")) }, onnx.ErrModel, "pixel_values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := onnx.OpenImages(t.Context(), testmodel.Edited(t, dir, c.file, c.change), onnx.Options{Library: provisioned(t).Library})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", err, c.want, c.says)
			}
			if err == nil {
				e.Close()
			}
		})
	}
}

// The image tower of a CLIP lies beside its text tower under a name of its own.
func TestVisionNamedFile(t *testing.T) {
	dir := visions(t)["clip_vision_model"]
	if err := os.Rename(filepath.Join(dir, "model.onnx"), filepath.Join(dir, "vision_model.onnx")); err != nil {
		t.Fatal(err)
	}
	e := openImages(t, dir, onnx.Options{})
	defer e.Close()
	if f := e.Fingerprint(); f.Pooling != "pooler" || f.Grid != [2]int{3, 4} || f.Media != encoder.MediaImages {
		t.Errorf("%+v", f)
	}
}
