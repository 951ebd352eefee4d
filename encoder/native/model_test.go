package native

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// provisioned returns the folder of the default model, which is fetched unless
// the tests were told to stay offline.
func provisioned(t testing.TB) string {
	t.Helper()
	offline := os.Getenv("LEXSEM_OFFLINE") != ""
	r, err := provision.Ensure(context.Background(), provision.Request{Runtime: provision.RuntimeNone, Offline: offline,
		Log: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if err != nil && offline {
		t.Skipf("LEXSEM_OFFLINE is set and the cache lacks the model: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.ModelDir
}

// recorded are the texts of package onnx with the ids and the vectors that the
// reference implementation gave.
func recorded(t testing.TB) (texts []string, ids [][]int32, vectors [][]float32) {
	t.Helper()
	f, err := os.Open("../onnx/testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := os.ReadFile("../onnx/testdata/golden.f32")
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var g struct {
			Text string  `json:"text"`
			IDs  []int32 `json:"ids"`
		}
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		v := make([]float32, 384)
		for j := range v {
			v[j] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(len(texts)*len(v)+j):]))
		}
		texts, ids, vectors = append(texts, g.Text), append(ids, g.IDs), append(vectors, v)
	}
	if len(texts) != 200 {
		t.Fatalf("%d texts", len(texts))
	}
	return texts, ids, vectors
}

// The default model gives what the reference implementation gave.
func TestRecorded(t *testing.T) {
	e := open(t, provisioned(t), Options{})
	defer e.Close()
	texts, ids, vectors := recorded(t)
	if testing.Short() {
		texts = texts[:50]
	}
	far := 0.0
	for i, o := range encode(t, e, encoder.Passage, texts, encoder.NeedDense) {
		if !slices.Equal(o.Tokens.IDs, ids[i]) {
			t.Errorf("ids of %q: %v, want %v", texts[i], o.Tokens.IDs, ids[i])
		}
		for j, x := range o.Dense {
			far = max(far, math.Abs(float64(x)-float64(vectors[i][j])))
		}
	}
	t.Logf("largest difference %.2g", far)
	if !(far <= 2e-6) {
		t.Errorf("vectors differ by up to %v from the recorded ones", far)
	}
}

func TestConformanceOfTheDefault(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with -short: the conformance of the default model; run without -short")
	}
	dir := provisioned(t)
	encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{}) })
}

func TestMaxTokens(t *testing.T) {
	e := open(t, folder(t, large(1), pooling.Mean), Options{MaxTokens: 8})
	out := encode(t, e, encoder.Passage, []string{"1 2 3 4 5 6 7 8 9"}, encoder.NeedDense)
	if k := out[0].Tokens; len(k.IDs) != 8 || k.Truncated != 3 || e.Fingerprint().MaxTokens != 8 {
		t.Errorf("%d ids, %d cut, limit %d; want 8, 3 and 8", len(k.IDs), k.Truncated, e.Fingerprint().MaxTokens)
	}
}

func TestOpenErrors(t *testing.T) {
	write := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	}
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	edit := func(name, old, new string) func(string) error {
		return func(dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && !strings.Contains(string(b), old) {
				return fmt.Errorf("%s does not hold %s", name, old)
			}
			return errors.Join(err, write(name, strings.Replace(string(b), old, new, 1))(dir))
		}
	}
	onnx := func(graph func(*encoders.Tiny) []byte) func(string) error {
		return func(dir string) error {
			return errors.Join(remove(fileSafetensors)(dir), remove(fileConfig)(dir), write(fileONNX, string(graph(large(1))))(dir))
		}
	}
	without := func(op string) func(*encoders.Tiny) []byte {
		return func(m *encoders.Tiny) []byte {
			return []byte(strings.Replace(string(basicGraph(m)), op, strings.ToUpper(op), 1))
		}
	}
	for _, c := range []struct {
		name   string
		change func(dir string) error
		o      Options
		want   error // nil for any
		text   string
	}{
		{"no weights", remove(fileSafetensors), Options{}, fs.ErrNotExist, "model.onnx"},
		{"no configuration", remove(fileConfig), Options{}, fs.ErrNotExist, "config.json"},
		{"no tokenizer", remove("tokenizer.json"), Options{}, fs.ErrNotExist, ""},
		{"described by sentence-transformers", remove(modelspec.SpecFile), Options{}, nil, ""},
		{"no description", func(dir string) error { return errors.Join(remove(modelspec.SpecFile)(dir), remove(fileConfig)(dir)) }, Options{}, fs.ErrNotExist, modelspec.SpecFile},
		{"damaged weights", write(fileSafetensors, "nonsense"), Options{}, ErrModel, ""},
		{"damaged configuration", write(fileConfig, "nonsense"), Options{}, ErrModel, ""},
		{"another architecture", edit(fileConfig, `"bert"`, `"gpt2"`), Options{}, ErrModel, "model_type"},
		{"more layers than there are", edit(fileConfig, `"num_hidden_layers":3`, `"num_hidden_layers":1000`), Options{}, ErrModel, "encoder.layer.3."},
		{"fewer words than there are", edit(fileConfig, `"vocab_size":`, `"vocab_size":1`), Options{}, ErrModel, "word_embeddings"},
		{"a wider layer", edit(fileConfig, `"intermediate_size":104`, `"intermediate_size":100000`), Options{}, ErrModel, "intermediate"},
		{"a tensor of another name", edit(fileSafetensors, "encoder.layer.2.output.dense.weight", "encoder.layer.2.output.dense.WEIGHT"), Options{}, ErrModel, "encoder.layer.2.output.dense.weight"},
		{"texts longer than the positions", edit(modelspec.SpecFile, `"max_tokens": 150`, `"max_tokens": 151`), Options{}, ErrModel, "150 positions"},
		{"eight-bit weights", edit(modelspec.SpecFile, "fp32", "int8"), Options{}, ErrModel, "int8"},
		{"a graph", onnx(basicGraph), Options{}, nil, ""},
		{"a graph without scores", onnx(without("Softmax")), Options{}, ErrModel, "width of a head: 0"},
		{"a graph with another activation", onnx(without("Erf")), Options{}, ErrModel, "exact GELU: false"},
		{"a graph without eps", onnx(without("Sqrt")), Options{}, ErrModel, "layer_norm_eps"},
		{"a graph cut short", onnx(func(m *encoders.Tiny) []byte { return basicGraph(m)[:5000] }), Options{}, ErrModel, ""},
		{"negative workers", nil, Options{Workers: -1}, nil, "negative"},
		{"limit of one", nil, Options{MaxTokens: 1}, nil, "at least 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, large(1), pooling.Mean)
			if c.change != nil {
				if err := c.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			e, err := Open(t.Context(), dir, c.o)
			if c.want == nil && c.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error", e.Dim())
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v does not wrap %v and say %q", err, c.want, c.text)
			}
		})
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
