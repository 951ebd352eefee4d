package process

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func python(t *testing.T, modules string) string {
	t.Helper()
	name := cmp.Or(os.Getenv("LEXSEM_PYTHON"), "python3")
	if out, err := exec.Command(name, "-c", "import "+modules).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: %s lacks one of %s; LEXSEM_PYTHON names an interpreter with them: %s", name, modules, bytes.TrimSpace(out))
	}
	return name
}

// TestPythonHelper: a model of one's own, served by tools/process/lexsem_encoder.py.
func TestPythonHelper(t *testing.T) {
	e, err := New(context.Background(), Options{Command: []string{python(t, "json"), "testdata/toy.py"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if fp := e.Fingerprint(); fp.Model != "toy" || fp.Dim != 27 || fp.VocabSize != 27 || fp.MaxTokens != 8 {
		t.Errorf("fingerprint %+v", fp)
	}
	out, err := e.Encode(context.Background(), encoder.Query, encoder.Texts("é Ab", "abcdefghij"), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	if got := out[0].Tokens; !slices.Equal(got.IDs, []int32{26, 0, 1}) || !slices.Equal(got.Offsets, []encoder.Span{{}, {Start: 3, End: 4}, {Start: 4, End: 5}}) || !slices.Equal(got.Special, []bool{true, false, false}) {
		t.Errorf("tokens %+v", got)
	}
	if out[1].Tokens.Truncated != 3 {
		t.Errorf("%d tokens cut, want 3", out[1].Tokens.Truncated)
	}
	if got := out[0].Dense[0] / out[0].Dense[2]; math.Abs(float64(got)-2) > 1e-6 {
		t.Errorf("vector %v", out[0].Dense)
	}
	if _, err := e.Encode(context.Background(), encoder.Query, encoder.Texts("refuse"), encoder.NeedDense); err == nil || !strings.Contains(err.Error(), "ValueError: no such text") {
		t.Errorf("an exception: %v", err)
	}
}

// TestSentenceTransformers: a tiny model of random weights by the real libraries.
func TestSentenceTransformers(t *testing.T) {
	name, dir := python(t, "sentence_transformers, torch"), t.TempDir()
	if out, err := exec.Command(name, "testdata/tiny.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e, err := New(context.Background(), Options{Command: []string{name, filepath.Join("..", "..", "tools", "process", "lexsem_encoder.py"), filepath.Join(dir, "tiny")}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if fp := e.Fingerprint(); fp.Model != "tiny" || fp.Dim != 32 || fp.VocabSize != 14 || fp.MaxTokens != 8 || fp.QueryPrefix != "query: " {
		t.Errorf("fingerprint %+v", fp)
	}
	out, err := e.Encode(context.Background(), encoder.Query, encoder.Texts("the herons", "boats zebra on the river a boats"), encoder.NeedDense|encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	if got := out[0].Tokens; !slices.Equal(got.IDs, []int32{2, 5, 6, 10, 11, 12, 3}) || !slices.Equal(got.Special, []bool{true, true, true, false, false, false, true}) ||
		!slices.Equal(got.Offsets, []encoder.Span{{}, {}, {}, {Start: 0, End: 3}, {Start: 4, End: 9}, {Start: 9, End: 10}, {}}) {
		t.Errorf("tokens %+v", got)
	}
	if got := out[1].Tokens; got.Truncated != 3 || len(got.IDs) != 8 || !got.Special[4] {
		t.Errorf("a long text with an unknown word: %+v", got)
	}
	for i, o := range out { // the mean of the states is the vector, but for its length
		mean, dot, length := make([]float64, 32), 0.0, 0.0
		for j, x := range o.Hidden {
			mean[j%32] += float64(x)
		}
		for j, x := range mean {
			dot, length = dot+x*float64(o.Dense[j]), length+x*x
		}
		if cos := dot / math.Sqrt(length); cos < .9999 {
			t.Errorf("text %d: the states' mean has cosine %v with the vector", i, cos)
		}
	}
	passage, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts("the herons"), encoder.NeedDense)
	if err != nil || slices.Equal(passage[0].Dense, out[0].Dense) || len(passage[0].Tokens.IDs) != 5 {
		t.Errorf("a passage has no prefix: %+v, %v", passage, err)
	}
}
