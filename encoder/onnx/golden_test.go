//go:build cgo

package onnx_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/onnx"
)

// golden is a text with the ids and the vector that the reference
// implementations gave; testdata/record.py recorded them.
type golden struct {
	Text   string  `json:"text"`
	IDs    []int32 `json:"ids"`
	vector []float32
}

const (
	goldenTexts = 200
	goldenDim   = 384
)

func loadGolden(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := os.ReadFile("testdata/golden.f32")
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	if len(out) != goldenTexts || len(raw) != 4*goldenTexts*goldenDim {
		t.Fatalf("%d texts and %d bytes of vectors", len(out), len(raw))
	}
	for i := range out {
		out[i].vector = make([]float32, goldenDim)
		for j := range out[i].vector {
			out[i].vector[j] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(i*goldenDim+j):]))
		}
	}
	return out
}

func goldenStrings(gs []golden) []string {
	out := make([]string, len(gs))
	for i, g := range gs {
		out[i] = g.Text
	}
	return out
}

// checkGolden holds e to the recorded ids and vectors, and returns what it gave.
func checkGolden(t *testing.T, e *onnx.Encoder, need encoder.Need) []encoder.Output {
	t.Helper()
	gs := loadGolden(t)
	out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(goldenStrings(gs)...), need)
	if err != nil {
		t.Fatal(err)
	}
	least, far := 1.0, 0.0
	for i, g := range gs {
		if !slices.Equal(out[i].Tokens.IDs, g.IDs) {
			t.Errorf("ids of %q: %v, want %v", g.Text, out[i].Tokens.IDs, g.IDs)
		}
		c := encodertest.Cosine(out[i].Dense, g.vector)
		if !(c >= encoder.MinProbeCosine) {
			t.Errorf("%q: cosine %v to the recorded vector", g.Text, c)
		}
		least, far = min(least, c), max(far, encodertest.Distance(out[i].Dense, g.vector))
	}
	t.Logf("%d texts: least cosine %.9f, largest difference %.2g", len(gs), least, far)
	return out
}

// The model as it comes by default.
func TestGolden(t *testing.T) {
	e := open(t, provisioned(t), onnx.Options{})
	defer e.Close()
	checkGolden(t, e, encoder.NeedDense)
}

// The published ONNX file, and the exported one against it.
func TestExportEqualsPublished(t *testing.T) {
	pub := open(t, published(t), onnx.Options{})
	defer pub.Close()
	need := encoder.NeedDense | encoder.NeedHidden
	want := checkGolden(t, pub, need)

	r := provisioned(t)
	if route := r.From[1].Route; route != "pip" && route != "download" {
		t.Skipf("the model in the cache came by %s and is the published file: NO exported model to compare", route)
	}
	e := open(t, r, onnx.Options{})
	defer e.Close()
	if err := encoder.Check("published model", pub.Fingerprint(), e.Fingerprint()); err != nil {
		t.Error(err)
	}
	texts := goldenStrings(loadGolden(t))
	got, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), need)
	if err != nil {
		t.Fatal(err)
	}
	var dense, hidden float64
	for i := range texts {
		dense = max(dense, encodertest.Distance(got[i].Dense, want[i].Dense))
		hidden = max(hidden, encodertest.Distance(got[i].Hidden, want[i].Hidden))
	}
	t.Logf("largest difference of %d texts: vectors %.2g, token states %.2g", len(texts), dense, hidden)
	if !(dense <= 1e-5) {
		t.Errorf("vectors differ by %v, want at most 1e-5", dense)
	}
	if !(hidden <= 5e-5) { // states have components of up to 8, vectors are unit length
		t.Errorf("token states differ by %v, want at most 5e-5", hidden)
	}
}
