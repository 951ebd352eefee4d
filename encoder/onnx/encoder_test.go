//go:build cgo

package onnx_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

var testContext = context.Background()

func TestConformance(t *testing.T) {
	r := provisioned(t)
	encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, r, onnx.Options{}) })
}

// Neither the number of workers nor the size of the batches may change more
// than rounding.
func TestBatchShapes(t *testing.T) {
	r, gs := provisioned(t), loadGolden(t)[:120]
	for _, o := range []onnx.Options{{Workers: 1, BatchTokens: 1}, {Workers: 3, BatchTokens: 4096}} {
		e := open(t, r, o)
		out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(goldenStrings(gs)...), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range gs {
			if d := encoders.Distance(out[i].Dense, g.vector); !(d <= 1e-5) {
				t.Errorf("%+v: %q differs by %v", o, g.Text, d)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// More texts than are sorted together keep their order.
func TestManyTexts(t *testing.T) {
	dir := t.TempDir()
	encoders.NewTiny(1, encoders.Tiny{}).Write(t, dir)
	r, err := provision.Ensure(t.Context(), provision.Request{Model: dir, Library: provisioned(t).Library, CacheDir: t.TempDir(), Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, r, onnx.Options{})
	defer e.Close()
	words := []string{"red", "the green sea of the blue sky", "", "blue"}
	texts := make([]string, 4099)
	for i := range texts {
		texts[i] = words[i%3]
	}
	texts[len(texts)-1] = words[3]
	want, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(words...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range got {
		w := want[slices.Index(words, texts[i])]
		if !slices.Equal(o.Tokens.IDs, w.Tokens.IDs) || !(encoders.Distance(o.Dense, w.Dense) <= 1e-5) {
			t.Fatalf("text %d has the result of another one", i)
		}
	}
}

func TestMaxTokens(t *testing.T) {
	e := open(t, provisioned(t), onnx.Options{MaxTokens: 8})
	defer e.Close()
	out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("one two three four five six seven eight nine"), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	if k := out[0].Tokens; len(k.IDs) != 8 || k.Truncated != 3 || e.Fingerprint().MaxTokens != 8 {
		t.Errorf("%d ids, %d cut, limit %d; want 8, 3 and 8", len(k.IDs), k.Truncated, e.Fingerprint().MaxTokens)
	}
}

// Close waits for a running call instead of freeing the model under it.
func TestCloseWaits(t *testing.T) {
	e := open(t, provisioned(t), onnx.Options{Workers: 1})
	texts := slices.Repeat([]string{"a text that takes the model a moment to read"}, 200)
	done := make(chan error, 1)
	go func() {
		out, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
		if err == nil && out[199].Dense == nil {
			err = errors.New("no vector")
		}
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil && !errors.Is(err, encoder.ErrClosed) {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	r := provisioned(t)
	copyModel := func(t *testing.T, names ...string) string {
		dir := t.TempDir()
		for _, n := range names {
			b, err := os.ReadFile(filepath.Join(r.ModelDir, n))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, n), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	damaged := copyModel(t, "tokenizer.json", "lexsem-model.json")
	if err := os.WriteFile(filepath.Join(damaged, "model.onnx"), []byte("not a model"), 0o644); err != nil {
		t.Fatal(err)
	}
	larger := copyModel(t, "model.onnx", "tokenizer.json", "lexsem-model.json")
	addToken(t, filepath.Join(larger, "tokenizer.json"))
	text := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		o         onnx.Options
		want      error
		text      string
	}{
		{"no folder", filepath.Join(t.TempDir(), "none"), onnx.Options{Library: r.Library}, fs.ErrNotExist, ""},
		{"no tokenizer", copyModel(t, "lexsem-model.json"), onnx.Options{Library: r.Library}, fs.ErrNotExist, ""},
		{"no model", copyModel(t, "tokenizer.json", "lexsem-model.json"), onnx.Options{Library: r.Library}, fs.ErrNotExist, ""},
		{"damaged model", damaged, onnx.Options{Library: r.Library}, onnx.ErrModel, "fetch the model again"},
		{"more words than the model has", larger, onnx.Options{Library: r.Library}, onnx.ErrModel, "[MORE]"},
		{"no library", r.ModelDir, onnx.Options{}, encoder.ErrUnavailable, "Options.Library"},
		{"second library", r.ModelDir, onnx.Options{Library: text}, nil, "use one library"},
		{"negative workers", r.ModelDir, onnx.Options{Library: r.Library, Workers: -1}, nil, "negative"},
		{"limit of one", r.ModelDir, onnx.Options{Library: r.Library, MaxTokens: 1}, nil, "at least 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := onnx.Open(t.Context(), c.dir, c.o)
			if err == nil {
				e.Close()
				t.Fatal("no error")
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v does not wrap %v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q does not say %q", err, c.text)
			}
		})
	}
}

// addToken gives a tokenizer.json one token more.
func addToken(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var j map[string]any
	if err := json.Unmarshal(b, &j); err != nil {
		t.Fatal(err)
	}
	size := len(j["model"].(map[string]any)["vocab"].(map[string]any))
	j["added_tokens"] = append(j["added_tokens"].([]any), map[string]any{"id": size, "content": "[MORE]", "special": true})
	if b, err = json.Marshal(j); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
