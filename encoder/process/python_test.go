package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
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

// library is what testdata/tiny.py made: models of random weights by the real libraries, and what those say of texts.
type library struct {
	python, dir string
	Texts       []string
	Said        map[string]map[string][][]float32 // model → role or tensor → text
}

func tiny(t *testing.T) library {
	t.Helper()
	l := library{python: python(t, "sentence_transformers, torch, transformers"), dir: t.TempDir()}
	cmd := exec.Command(l.python, "testdata/tiny.py", l.dir)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.String())
	}
	if err := json.Unmarshal(raw, &l); err != nil || len(l.Texts) != 3 {
		t.Fatalf("%.200s, %v", raw, err)
	}
	return l
}

func (l library) open(t *testing.T, name string, args ...string) encoder.Encoder {
	t.Helper()
	e, err := New(context.Background(), Options{
		Command: append([]string{l.python, filepath.Join("..", "..", "tools", "process", "lexsem_encoder.py"), filepath.Join(l.dir, name)}, args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// meansAre holds the means of token states to the vectors, but for their length.
func meansAre(t *testing.T, out []encoder.Output) {
	t.Helper()
	for i, o := range out {
		mean := make([]float32, len(o.Dense))
		for j, x := range o.Hidden {
			mean[j%len(mean)] += x
		}
		if cos := encoders.Cosine(mean, o.Dense); !(cos > .9999) {
			t.Errorf("text %d: the states' mean has cosine %v with the vector", i, cos)
		}
	}
}

// TestPythonLibraries: models of sentence-transformers, transformers and PyLate keep the contract of encoders, and
// their vectors, token states and logits are what the libraries give without lexsem.
func TestPythonLibraries(t *testing.T) {
	l := tiny(t)
	words, err := os.ReadFile(filepath.Join(l.dir, "masked", "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	stop := int32(slices.Index(strings.Fields(string(words)), "."))
	t.Run("prefix and limit", l.prefixAndLimit)
	for name, args := range map[string][]string{"bpe": nil, "masked": {"--as", "transformers"}, "colbert": {"--as", "pylate"}} {
		t.Run(name, func(t *testing.T) {
			if l.Said[name] == nil {
				t.Skip("NOT TESTED: PyLate is not installed")
			}
			if trial.Long() { // three starts more
				encodertest.Run(t, func(t *testing.T) encoder.Encoder { return l.open(t, name, args...) })
			}
			e := l.open(t, name, args...)
			defer e.Close()
			for _, role := range []encoder.Role{encoder.Query, encoder.Passage} {
				out, err := e.Encode(context.Background(), role, encoder.Texts(l.Texts...), encoder.NeedDense|encoder.NeedHidden)
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range l.Said[name][role.String()] {
					got := out[i].Dense
					if name == "colbert" {
						meansAre(t, out[i:i+1])
						got = nil
						for j, id := range out[i].Tokens.IDs {
							if role == encoder.Query || id != stop { // PyLate skips punctuation in passages
								got = append(got, out[i].Hidden[j*16:(j+1)*16]...)
							}
						}
						if role == encoder.Query {
							want = want[:min(len(want), len(got))] // those of [MASK] stand last
						}
					}
					if cos := encoders.Cosine(got, want); !(cos > .9999) {
						t.Errorf("%s %q: cosine %v with what the library gives, lengths %d and %d", role, l.Texts[i], cos, len(got), len(want))
					}
				}
				for i, k := range out {
					if want := strings.Fields(l.Texts[i])[0]; !strings.HasPrefix(lexicalText(l.Texts[i], k.Tokens), want) {
						t.Errorf("%s %q: the tokens that are no marks read %q", role, l.Texts[i], lexicalText(l.Texts[i], k.Tokens))
					}
				}
			}
			scores := l.Said[name]["scores"]
			if scores == nil {
				return
			}
			out, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts(l.Texts...), encoder.NeedLogits)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range scores {
				if d := encoders.Distance(out[i].Logits, want); !(d < 1e-4) {
					t.Errorf("%q: logits differ from the library's by %v", l.Texts[i], d)
				}
			}
		})
	}
	if out, err := exec.Command(l.python, "../../tools/process/lexsem_encoder.py", "x", "--pooling", "cls").CombinedOutput(); err == nil || !strings.Contains(string(out), "--as transformers takes --pooling") {
		t.Errorf("an option of another library: %v, %s", err, out)
	}
}

// TestPyLateFolders: folders of PyLate and of ColBERT's first authors run without Python, and their token states are
// what PyLate gives. What fills a query without being attended to is left out, and so are words of the skip list.
func TestPyLateFolders(t *testing.T) {
	l := tiny(t)
	if l.Said["colbert"] == nil {
		t.Skip("NOT TESTED: PyLate is not installed")
	}
	limits := map[string]int{"colbert": 40, "attending": 12, "stanford": 20}
	for name, skipped := range map[string][]string{"colbert": {"."}, "attending": {"##o"}, "stanford": {".", "[UNK]"}} {
		e, err := native.Open(t.Context(), filepath.Join(l.dir, name), native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if fp := e.Fingerprint(); fp.Dim != 16 || fp.MaxTokens != limits[name] {
			t.Errorf("%s: %d dimensions, %d tokens", name, fp.Dim, fp.MaxTokens)
		}
		for _, role := range []encoder.Role{encoder.Query, encoder.Passage} {
			out, err := e.Encode(t.Context(), role, encoder.Texts(l.Texts...), encoder.NeedDense|encoder.NeedHidden)
			if err != nil {
				t.Fatal(err)
			}
			meansAre(t, out)
			for i, want := range l.Said[name][role.String()] {
				var got []float32
				for j, id := range out[i].Tokens.IDs {
					skip := slices.Contains(skipped, e.Token(id))
					if role == encoder.Query || !skip {
						got = append(got, out[i].Hidden[j*16:(j+1)*16]...)
					}
					if skip && !out[i].Tokens.Special[j] {
						t.Errorf("%s: %s %q: token %d is compared", name, role, l.Texts[i], j)
					}
				}
				if role == encoder.Query && name != "attending" {
					want = want[:len(got)]
				}
				if len(got) != len(want) {
					t.Errorf("%s: %s %q has %d states, and by PyLate %d", name, role, l.Texts[i], len(got)/16, len(want)/16)
					continue
				}
				for j := 0; j < len(got); j += 16 {
					if cos := encoders.Cosine(got[j:j+16], want[j:j+16]); !(cos > .9999) {
						t.Errorf("%s: %s %q, state %d: cosine %v with PyLate's", name, role, l.Texts[i], j/16, cos)
					}
				}
			}
		}
	}
}

// TestSparseEncoderFolders: folders of SparseEncoder run without Python, and log(1+ReLU) of their logits are the weights
// that the library gives.
func TestSparseEncoderFolders(t *testing.T) {
	l := tiny(t)
	t.Run("table of queries", l.free)
	for _, name := range []string{"splade", "twice"} {
		e, err := native.Open(t.Context(), filepath.Join(l.dir, name), native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(l.Texts...), encoder.NeedLogits)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range l.Said[name]["weights"] {
			for word, weight := range want {
				if got := math.Log1p(max(0, float64(out[i].Logits[word]))); math.Abs(got-float64(weight)) > 1e-5 {
					t.Errorf("%s %q: word %d weighs %v, and by the library %v", name, l.Texts[i], word, got, weight)
				}
			}
		}
	}
}

// free: a SparseEncoder whose queries have weights of a table gives queries and passages the weights of the library, those
// of queries times one factor.
func (l library) free(t *testing.T) {
	for _, kind := range []string{"DistilBert", "Roberta", "MPNet", "ModernBert"} {
		e, err := native.Open(t.Context(), filepath.Join(l.dir, "free-"+kind), native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		factor := 0.0
		for what, role := range map[string]encoder.Role{"weights": encoder.Passage, "queries": encoder.Query} {
			out, err := e.Encode(t.Context(), role, encoder.Texts(l.Texts...), encoder.NeedLogits)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range l.Said["free-"+kind][what] {
				for word, weight := range want {
					got := math.Log1p(max(0, float64(out[i].Logits[word])))
					if role == encoder.Query && factor == 0 && weight > 0 {
						factor = got / float64(weight)
					}
					if role == encoder.Query {
						weight *= float32(factor)
					}
					if math.Abs(got-float64(weight)) > 1e-4 {
						t.Errorf("%s, %s of %q: word %d weighs %v, and by the library %v", kind, what, l.Texts[i], word, got, weight)
					}
				}
			}
		}
		if !(factor > 0) {
			t.Errorf("%s: factor %v", kind, factor)
		}
	}
}

// lexicalText is what the lexical tokens of a text stand for.
func lexicalText(text string, k encoder.Tokens) string {
	var b strings.Builder
	for i, s := range k.Offsets {
		if !k.Special[i] {
			b.WriteString(text[s.Start:s.End])
		}
	}
	return strings.TrimSpace(b.String())
}

// prefixAndLimit: tokens of a prefix, an unknown word and a cut text.
func (l library) prefixAndLimit(t *testing.T) {
	e := l.open(t, "tiny")
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
	meansAre(t, out)
	passage, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts("the herons"), encoder.NeedDense)
	if err != nil || slices.Equal(passage[0].Dense, out[0].Dense) || len(passage[0].Tokens.IDs) != 5 {
		t.Errorf("a passage has no prefix: %+v, %v", passage, err)
	}
}
