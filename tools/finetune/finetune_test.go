// Package finetune compares what the trainer in Python writes with what lexsem makes of it. The trainer
// (README.md) trains an encoder together with a bridge, and is no part of the program.
package finetune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/modulate"
)

// python is an interpreter that has what requirements.txt lists.
func python(t *testing.T) string {
	t.Helper()
	if !trial.Long() {
		t.Skip("NOT TESTED: LEXSEM_LONG=1 runs the trainer in Python")
	}
	name := os.Getenv("LEXSEM_PYTHON")
	if name == "" {
		name = "python3"
	}
	if out, err := exec.Command(name, "-c", "import torch, transformers, onnx").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: %s has no torch; LEXSEM_PYTHON names an interpreter with what requirements.txt lists: %s", name, bytes.TrimSpace(out))
	}
	return name
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}

// vectors are those that the trainer's own code computes.
func vectors(t *testing.T, name, folder string, texts []string, flags ...string) [][]float32 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "texts.json")
	raw, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	var out [][]float32
	lines := json.NewDecoder(bytes.NewReader(run(t, name, append([]string{"vectors.py", folder, "--texts", file}, flags...)...)))
	for lines.More() {
		var v []float32
		if err := lines.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if len(out) != len(texts) {
		t.Fatalf("%d vectors of %d texts", len(out), len(texts))
	}
	return out
}

func encode(t *testing.T, folder string, role encoder.Role, texts []string, need encoder.Need) (*native.Encoder, []encoder.Output) {
	t.Helper()
	e, err := native.Open(t.Context(), folder, native.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	out, err := e.Encode(t.Context(), role, encoder.Texts(texts...), need)
	if err != nil {
		t.Fatal(err)
	}
	return e, out
}

// near fails where a vector of the trainer is not that of lexsem.
func near(t *testing.T, what string, texts []string, got func(i int) []float32, want [][]float32) {
	t.Helper()
	least := 1.0
	for i, text := range texts {
		c := encoders.Cosine(got(i), want[i])
		if least = min(least, c); !(c >= encoder.MinProbeCosine) {
			t.Errorf("%s of %q: cosine %v", what, text, c)
		}
	}
	t.Logf("%s: least cosine of %d texts: %.7f", what, len(texts), least)
}

// TestEqualsLexsem: the weights that the trainer takes from a graph of lexsem's
// cache, and those of the folder it writes, give the vectors of lexsem.
func TestEqualsLexsem(t *testing.T) {
	name := python(t)
	r, err := provision.Ensure(t.Context(), provision.Request{Model: "all-MiniLM-L6-v2", Offline: true})
	if errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT TESTED: all-MiniLM-L6-v2 is not in the cache; run `lexsem setup`: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	texts := append(slices.Clone(encoder.ProbeTexts[:]), "", "symptoms and treatment of diabetes", string(bytes.Repeat([]byte("many words "), 300)))
	_, out := encode(t, r.ModelDir, encoder.Passage, texts, encoder.NeedDense)
	near(t, "passage vector", texts, func(i int) []float32 { return out[i].Dense }, vectors(t, name, r.ModelDir, texts))
}

// TestRoundTrip: a tiny BERT is trained for a few steps with each bridge; what
// the trainer then computes of queries is what lexsem computes with the folder
// and the imported bridge.
func TestRoundTrip(t *testing.T) {
	name := python(t)
	words := []string{"red", "green", "blue", "sky", "sea", "##s", "stone", "river", "bird", "tree", "wind", "sand", "fog", "moon", "lake", "hill"}
	dir := t.TempDir()
	folder := filepath.Join(dir, "tiny")
	encoders.NewTiny(3, encoders.Tiny{Vocab: append(slices.Clone(encoders.TinySpecials), words...)}).Write(t, folder)
	var lines bytes.Buffer
	word := func(i int) string { return words[[]int{0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}[i%15]] }
	for i := range 30 {
		fmt.Fprintf(&lines, `{"query":"%s %s","passage":"%s %s %s %ss","split":"train"}`+"\n", word(i), word(2*i+1), word(i), word(2*i+1), word(3*i+2), word(i/2))
	}
	file := filepath.Join(dir, "samples.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	queries := []string{"red sky", "blue blue sea", "stones", "river wind fog unheard", "unheard"}
	for _, kind := range []string{"slr", "llr", "clr"} {
		t.Run(kind, func(t *testing.T) {
			out := filepath.Join(dir, kind)
			run(t, name, "train.py", "--encoder", folder, "--samples", file, "--out", out, "--bridge", kind, "--steps", "8", "--batch", "6",
				"--rate", "0.01", "--bridge-rate", "0.3", "--threads", "1")
			e, got := encode(t, out, encoder.Query, queries, encoder.NeedDense|encoder.NeedHidden)
			dense := vectors(t, name, out, queries, "--query")
			near(t, "query vector", queries, func(i int) []float32 { return got[i].Dense }, dense)
			w, err := modulate.Import(filepath.Join(out, "bridge.safetensors"), kind, e.Fingerprint())
			if err != nil {
				t.Fatal(err)
			}
			sums, err := ridge.NewSums(e.Dim(), e.VocabSize(), 1, func(uint64, *[]float32) []float32 { return nil })
			if err != nil {
				t.Fatal(err)
			}
			m, err := modulate.NewStack(kind, modulate.Parts{Weights: w, Sums: sums})
			if err != nil {
				t.Fatal(err)
			}
			want := vectors(t, name, out, queries, "--bridge")
			near(t, "query vector with its bridge", queries, func(i int) []float32 {
				return m.Modulate(nil, modulate.Input{Tokens: got[i].Tokens, Dense: got[i].Dense, Hidden: got[i].Hidden})
			}, want)
			if c := encoders.Cosine(want[0], dense[0]); c > 0.999 {
				t.Errorf("the bridge has learned nothing: cosine %v to the query without it", c)
			}
		})
	}
}
