package native

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/vec"
)

func TestInt8Conformance(t *testing.T) {
	dir := folder(t, large(1), pooling.Mean)
	encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{Precision: Int8}) })
}

// Vectors in bytes are next to those in float32, and no nearer than bytes can be.
func TestInt8IsNear(t *testing.T) {
	texts, _, _ := recorded(t)
	texts = texts[:60]
	dir := provisioned(t)
	want := encode(t, open(t, dir, Options{}), encoder.Query, texts, encoder.NeedDense)
	sum, least := 0.0, 1.0
	for i, got := range encode(t, open(t, dir, Options{Precision: Int8}), encoder.Query, texts, encoder.NeedDense) {
		c := float64(vec.Dot(got.Dense, want[i].Dense))
		sum, least = sum+c, min(least, c)
	}
	mean := sum / float64(len(texts))
	t.Logf("cosine to float32: mean %.5f, least %.5f", mean, least)
	if !(mean >= .998 && mean < .9999 && least >= .99) {
		t.Errorf("cosine to float32: mean %.5f, least %.5f; want .998 and .99", mean, least)
	}
}

// An encoder in bytes is another than that in float32, and says so by its name.
func TestInt8IsAnotherEncoder(t *testing.T) {
	dir := folder(t, large(1), pooling.Mean)
	full, named, small := open(t, dir, Options{}).Fingerprint(), open(t, dir, Options{Precision: FP32}).Fingerprint(), open(t, dir, Options{Precision: Int8}).Fingerprint()
	if full.Model != "tiny" || full.Precision != "fp32" || small.Model != "tiny-int8" || small.Precision != "int8" {
		t.Errorf("%s of %s and %s of %s", full.Model, full.Precision, small.Model, small.Precision)
	}
	if err := encoder.Check("a database", full, named); err != nil {
		t.Error(err)
	}
	if err := encoder.Check("a database", full, small); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("float32 and bytes: %v", err)
	}
	if slices.Equal(full.Probe[0], small.Probe[0]) {
		t.Error("the vectors are those of float32")
	}
	if _, err := Open(t.Context(), dir, Options{Precision: "int4"}); err == nil || !strings.Contains(err.Error(), `"int4"`) {
		t.Errorf("precision int4: %v", err)
	}
}

// The vectors of a text in bytes are the same bits alone and in any batch.
func TestInt8BatchesAreExact(t *testing.T) {
	dir := folder(t, large(2), pooling.Mean)
	var texts []string
	for i := range 120 {
		s := sentences()
		texts = append(texts, s[(7*i)%len(s)]+strings.Repeat("x", i%9))
	}
	need := encoder.NeedDense | encoder.NeedHidden
	want := encode(t, open(t, dir, Options{Workers: 1, BatchTokens: 1, Precision: Int8}), encoder.Passage, texts, need)
	for i, got := range encode(t, open(t, dir, Options{Workers: 3, BatchTokens: 700, Precision: Int8}), encoder.Passage, texts, need) {
		if !slices.Equal(got.Dense, want[i].Dense) || !slices.Equal(got.Hidden, want[i].Hidden) {
			t.Fatalf("%q has other values than alone", texts[i])
		}
	}
}

// Safetensors, those of bfloat16 and a graph, whose matrices lie the other way
// round, give the same bytes.
func TestInt8Sources(t *testing.T) {
	m := large(3)
	m.Each(func(_ string, w []float32, _ []int) {
		for i := range w {
			w[i] = math.Float32frombits(math.Float32bits(w[i]) &^ 0xffff) // what bfloat16 can hold
		}
	})
	dir := folder(t, m, pooling.Mean)
	texts, o := sentences(), Options{Precision: Int8}
	want := encode(t, open(t, dir, o), encoder.Passage, texts, encoder.NeedHidden)
	weights := filepath.Join(dir, fileSafetensors)
	plain, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"bfloat16": func() error { return os.WriteFile(weights, halved(t, plain), 0o644) },
		"graph": func() error {
			if err := os.WriteFile(weights, plain, 0o644); err != nil {
				return err
			}
			return errors.Join(provision.ExportONNX(t.Context(), weights, filepath.Join(dir, fileConfig), filepath.Join(dir, fileONNX)), os.Remove(weights))
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for i, got := range encode(t, open(t, dir, o), encoder.Passage, texts, encoder.NeedHidden) {
			if !slices.Equal(got.Hidden, want[i].Hidden) {
				t.Fatalf("%s: %q has other states", name, texts[i])
			}
		}
	}
}

// The head reads the table of words in bytes, too.
func TestInt8Logits(t *testing.T) {
	m := encoders.NewTiny(2, encoders.Tiny{Prefix: "bert."})
	dir := folder(t, m, pooling.CLS)
	texts := []string{"red stones", "blue sky green sea", "sea"}
	want := encode(t, open(t, dir, Options{}), encoder.Passage, texts, encoder.NeedLogits)
	for i, got := range encode(t, open(t, dir, Options{Precision: Int8}), encoder.Passage, texts, encoder.NeedLogits) {
		var far, top float64
		for k, w := range want[i].Logits {
			far, top = max(far, math.Abs(float64(got.Logits[k]-w))), max(top, math.Abs(float64(w)))
		}
		if len(got.Logits) != len(want[i].Logits) || !(far < top/10) || far == 0 {
			t.Errorf("%q: logits differ by up to %v of %v", texts[i], far, top)
		}
	}
}

// Weights that are no numbers are refused where they would be read as codes, and
// make states that cannot be pooled elsewhere.
func TestInt8NotANumber(t *testing.T) {
	for tensor, says := range map[string]string{wordTable: "row ", "encoder.layer.0.output.dense.weight": "cannot be pooled"} {
		m := large(4)
		m.Each(func(name string, w []float32, _ []int) {
			for i := 1; name == tensor && i < len(w); i += 2 { // of the table of words any row, as only those of a text are read
				w[i] = float32(math.NaN())
			}
		})
		_, err := Open(t.Context(), folder(t, m, pooling.Mean), Options{Precision: Int8})
		if !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not wrap ErrModel and say %q", tensor, err, says)
		}
	}
}

// A sum of codes has room for so many and no more.
func TestInt8TooWide(t *testing.T) {
	m := encoders.NewTiny(5, encoders.Tiny{Hidden: 8, Heads: 2, Layers: 1, Inner: vec.MaxInt8Dim + 4, Positions: 150, Vocab: encoders.Letters()})
	dir := folder(t, m, pooling.Mean)
	open(t, dir, Options{})
	if _, err := Open(t.Context(), dir, Options{Precision: Int8}); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), "65540") {
		t.Errorf("65540 inputs: %v", err)
	}
}
