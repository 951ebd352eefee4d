package modelspec

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/pooling"
)

func TestSpecRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := Spec{Model: "m", Precision: "fp32", Pooling: pooling.CLS, QueryPrefix: "query: ", PassagePrefix: "passage: ", MaxTokens: 512}
	for range 2 { // the second replaces the first
		if err := want.Write(dir); err != nil {
			t.Fatal(err)
		}
		got, err := LoadSpec(dir)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		want.Pooling = pooling.Mean
	}
	if want.Prefix(encoder.Query) != "query: " || want.Prefix(encoder.Passage) != "passage: " {
		t.Error("prefixes by role")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left, want 1", len(left))
	}
}

func TestSpecRefuses(t *testing.T) {
	good := Spec{Model: "m", Precision: "int8", Pooling: pooling.Mean, MaxTokens: 256}
	for name, change := range map[string]func(*Spec){
		"no model":  func(s *Spec) { s.Model = "" },
		"precision": func(s *Spec) { s.Precision = "fp16" },
		"pooling":   func(s *Spec) { s.Pooling = "median" },
		"tokens":    func(s *Spec) { s.MaxTokens = 2 },
		"outside":   func(s *Spec) { s.Dense = []string{"../2_Dense"} },
		"many":      func(s *Spec) { s.Dense = make([]string, maxModules+1) },
	} {
		s := good
		change(&s)
		if err := s.Validate(); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: %v, want ErrSpec", name, err)
		}
		if err := s.Write(t.TempDir()); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: written: %v, want ErrSpec", name, err)
		}
	}
	dir := t.TempDir()
	if _, err := LoadSpec(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for name, text := range map[string]string{
		"empty": "", "not JSON": "{", "unknown field": `{"modle":"m"}`, "incomplete": `{"model":"m"}`,
		"two values": `{"model":"m","precision":"fp32","pooling":"cls","max_tokens":9} {}`,
		"number":     `{"model":"m","precision":"fp32","pooling":"cls","max_tokens":1e400}`,
		"long":       strings.Repeat(" ", maxSpecBytes+1),
	} {
		if err := os.WriteFile(filepath.Join(dir, SpecFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSpec(dir); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: %v, want ErrSpec", name, err)
		}
	}
	if err := good.Write(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("written into an absent folder: %v", err)
	}
}

func TestPool(t *testing.T) {
	hidden := []float32{3, 4, 0, -4, 3, 2}
	dst := make([]float32, 2)
	for p, want := range map[pooling.Pooling][]float32{pooling.CLS: {0.6, 0.8}, pooling.Mean: {6 / float32(math.Sqrt(37)), 1 / float32(math.Sqrt(37))}} {
		rows := hidden
		if p == pooling.Mean {
			rows = []float32{3, 4, 0, -5, 3, 2}
		}
		if !p.Pool(dst, rows) || math.Abs(float64(dst[0]-want[0])) > 1e-6 || math.Abs(float64(dst[1]-want[1])) > 1e-6 {
			t.Errorf("%s: %v, want %v", p, dst, want)
		}
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, rows := range map[string][]float32{"none": nil, "part of a row": {1, 2, 3}, "zero": {0, 0}, "cancelling": {1, 2, -1, -2}, "NaN": {1, nan}, "infinite": {inf, 1}, "overflow": {math.MaxFloat32, 1, math.MaxFloat32, 1}} {
		if pooling.Mean.Pool(dst, rows) {
			t.Errorf("%s: pooled to %v", name, dst)
		}
	}
	if pooling.Pooling("median").Pool(dst, hidden) || pooling.Mean.Pool(nil, hidden) {
		t.Error("pooled without knowing how or whereto")
	}
	if !pooling.Mean.Pool(dst, []float32{1e-30, 1e-30}) || math.Abs(float64(dst[0])-math.Sqrt(0.5)) > 1e-6 {
		t.Errorf("tiny states: %v", dst)
	}
}

// wordsAndSigns cuts texts into words and signs, between two special tokens.
type wordsAndSigns struct{}

func (wordsAndSigns) VocabSize() int     { return 2 }
func (wordsAndSigns) Token(int32) string { return "" }
func (wordsAndSigns) Digest() string     { return "words and signs" }

func (wordsAndSigns) Tokenize(text string, max int) (t encoder.Tokens) {
	add := func(id int32, s encoder.Span) {
		t.IDs, t.Special, t.Offsets = append(t.IDs, id), append(t.Special, id == 0), append(t.Offsets, s)
	}
	add(0, encoder.Span{})
	for _, at := range regexp.MustCompile(`\w+|[^\w\s]`).FindAllStringIndex(text, -1) {
		if max > 0 && len(t.IDs) == max-1 {
			t.Truncated++
			continue
		}
		add(1, encoder.Span{Start: int32(at[0]), End: int32(at[1])})
	}
	add(0, encoder.Span{})
	return t
}

func TestWithPrefix(t *testing.T) {
	w := wordsAndSigns{}
	k := WithPrefix(w, "query: ", "the cat", 0)
	if !slices.Equal(k.Special, []bool{true, true, true, false, false, true}) ||
		!slices.Equal(k.Offsets, []encoder.Span{{}, {}, {}, {Start: 0, End: 3}, {Start: 4, End: 7}, {}}) {
		t.Errorf("%v", k)
	}
	if k := WithPrefix(w, "query: ", "the cat", 5); len(k.IDs) != 5 || k.Truncated != 1 {
		t.Errorf("the prefix does not count towards the limit: %v", k)
	}
	// A word that begins in the prefix belongs to the text.
	if k := WithPrefix(w, "hel", "lo", 0); !slices.Equal(k.Offsets, []encoder.Span{{}, {Start: 0, End: 2}, {}}) || k.Special[1] {
		t.Errorf("%v", k)
	}
	if k := WithPrefix(w, "", "the", 0); !slices.Equal(k.Offsets, []encoder.Span{{}, {Start: 0, End: 3}, {}}) {
		t.Errorf("%v", k)
	}
}
