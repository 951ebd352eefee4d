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
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
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

// encodeGolden are the vectors and states of the texts, by an encoder of r.
func encodeGolden(t *testing.T, r provision.Result, gs []golden) ([]encoder.Output, encoder.Fingerprint) {
	t.Helper()
	e := open(t, r, onnx.Options{})
	defer e.Close()
	out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(goldenStrings(gs)...), encoder.NeedDense|encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	return out, e.Fingerprint()
}

// checkGolden holds out to the recorded ids and vectors.
func checkGolden(t *testing.T, gs []golden, out []encoder.Output) {
	t.Helper()
	least, far := 1.0, 0.0
	for i, g := range gs {
		if !slices.Equal(out[i].Tokens.IDs, g.IDs) {
			t.Errorf("ids of %q: %v, want %v", g.Text, out[i].Tokens.IDs, g.IDs)
		}
		c := encoders.Cosine(out[i].Dense, g.vector)
		if !(c >= encoder.MinProbeCosine) {
			t.Errorf("%q: cosine %v to the recorded vector", g.Text, c)
		}
		least, far = min(least, c), max(far, encoders.Distance(out[i].Dense, g.vector))
	}
	t.Logf("%d texts: least cosine %.9f, largest difference %.2g", len(gs), least, far)
}

// The model as it comes by default; then the published ONNX file, and the
// default, where that is exported, against it.
func TestGolden(t *testing.T) {
	gs, r := loadGolden(t), provisioned(t)
	got, fingerprint := encodeGolden(t, r, gs)
	checkGolden(t, gs, got)
	t.Run("published", func(t *testing.T) { equalsPublished(t, r, gs[:100], got[:100], fingerprint) })
}

func equalsPublished(t *testing.T, r provision.Result, gs []golden, got []encoder.Output, fingerprint encoder.Fingerprint) {
	want, theirs := encodeGolden(t, published(t), gs)
	checkGolden(t, gs, want)
	if route := r.From[1].Route; route != "pip" && route != "download" {
		t.Skipf("the model in the cache came by %s and is the published file: NO exported model to compare", route)
	}
	if err := encoder.Check("published model", theirs, fingerprint); err != nil {
		t.Error(err)
	}
	var dense, hidden float64
	for i := range gs {
		dense = max(dense, encoders.Distance(got[i].Dense, want[i].Dense))
		hidden = max(hidden, encoders.Distance(got[i].Hidden, want[i].Hidden))
	}
	t.Logf("largest difference of %d texts: vectors %.2g, token states %.2g", len(gs), dense, hidden)
	if !(dense <= 1e-5) {
		t.Errorf("vectors differ by %v, want at most 1e-5", dense)
	}
	if !(hidden <= 5e-5) { // states have components of up to 8, vectors are unit length
		t.Errorf("token states differ by %v, want at most 5e-5", hidden)
	}
}
