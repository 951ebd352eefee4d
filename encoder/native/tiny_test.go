package native

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
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

// large is a Tiny whose texts are longer than what is scored together, with
// sizes that fill no panel.
func large(seed uint64) *encoders.Tiny {
	return encoders.NewTiny(seed, encoders.Tiny{Hidden: 40, Heads: 5, Layers: 3, Inner: 104, Positions: 150, Vocab: encoders.Letters()})
}

// folder writes m and its description.
func folder(t *testing.T, m *encoders.Tiny, pooling pooling.Pooling) string {
	t.Helper()
	dir := t.TempDir()
	m.Write(t, dir)
	spec := modelspec.Spec{Model: "tiny", Precision: "fp32", Pooling: pooling, MaxTokens: m.Positions, QueryPrefix: "seek: "}
	if err := spec.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, dir string, o Options) *Encoder {
	t.Helper()
	e, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !errors.Is(err, encoder.ErrClosed) {
			t.Error(err)
		}
	})
	return e
}

func encode(t *testing.T, e *Encoder, role encoder.Role, texts []string, need encoder.Need) []encoder.Output {
	t.Helper()
	out, err := e.Encode(t.Context(), role, encoder.Texts(texts...), need)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sentences are texts of 2 to about 140 tokens.
func sentences() []string {
	out := []string{"", "a", "red", "zebras, ships & 7 more"}
	for n := 8; n < 140; n += 19 {
		out = append(out, strings.Repeat("pq ", n/2)+fmt.Sprint(n))
	}
	return out
}

func TestConformance(t *testing.T) {
	dir := folder(t, large(1), pooling.Mean)
	encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{}) })
}

// States and logits are those of the definition in float64.
func TestAgainstTheDefinition(t *testing.T) {
	for i, m := range []*encoders.Tiny{
		encoders.NewTiny(1, encoders.Tiny{}),
		encoders.NewTiny(2, encoders.Tiny{Prefix: "bert."}),
		encoders.NewTiny(3, encoders.Tiny{Activation: "gelu_new", Prefix: "bert."}),
		large(4),
	} {
		e := open(t, folder(t, m, pooling.CLS), Options{})
		texts := sentences()
		if i < 3 {
			texts = []string{"", "red stones", "blue sky green sea unknown red red red blue", "sea"}
		}
		var far float64
		for j, o := range encode(t, e, encoder.Passage, texts, encoder.NeedHidden|encoder.NeedDense) {
			want := m.Forward(o.Tokens.IDs)
			if len(o.Hidden) != len(want) {
				t.Fatalf("model %d, %q: %d values, want %d", i, texts[j], len(o.Hidden), len(want))
			}
			for k := range want {
				d := math.Abs(float64(o.Hidden[k]) - want[k])
				if far = max(far, d); !(d <= 3e-5) {
					t.Fatalf("model %d, %q: value %d is %v, want %v", i, texts[j], k, o.Hidden[k], want[k])
				}
			}
			first := make([]float32, m.Hidden)
			if !pooling.CLS.Pool(first, o.Hidden) || !slices.Equal(first, o.Dense) {
				t.Errorf("model %d, %q: the vector is not that of the first token", i, texts[j])
			}
		}
		t.Logf("model %d: largest difference %.2g", i, far)
		out, err := e.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), encoder.NeedLogits)
		if m.Prefix == "" {
			if !errors.Is(err, encoder.ErrNoLogits) {
				t.Errorf("logits of a model without a head: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for j, o := range out {
			want := m.Logits(m.Forward(o.Tokens.IDs)[:m.Hidden])
			if len(o.Logits) != len(want) || o.Dense != nil || o.Hidden != nil {
				t.Fatalf("model %d, %q: %d logits, want %d and nothing else", i, texts[j], len(o.Logits), len(want))
			}
			for k := range want {
				if d := math.Abs(float64(o.Logits[k]) - want[k]); !(d <= 1e-4) {
					t.Fatalf("model %d, %q: logit %d is %v, want %v", i, texts[j], k, o.Logits[k], want[k])
				}
			}
		}
	}
}

// The vectors of a text are the same bits alone and in any batch.
func TestBatchesAreExact(t *testing.T) {
	dir := folder(t, large(2), pooling.Mean)
	one := open(t, dir, Options{Workers: 1, BatchTokens: 1})
	texts := sentences()
	for i := range 300 { // more than a batch, more than a worker
		texts = append(texts, texts[(7*i)%len(texts)]+fmt.Sprint(" ", i%50))
	}
	need := encoder.NeedDense | encoder.NeedHidden
	want := encode(t, one, encoder.Passage, texts, need)
	for _, o := range []Options{{}, {Workers: 3, BatchTokens: 700}, {Workers: 2, BatchTokens: 100000}} {
		for i, got := range encode(t, open(t, dir, o), encoder.Passage, texts, need) {
			if !slices.Equal(got.Dense, want[i].Dense) || !slices.Equal(got.Hidden, want[i].Hidden) {
				t.Fatalf("%+v: %q has other values than alone", o, texts[i])
			}
		}
	}
}

// The same weights in safetensors, in bfloat16, in our exported graph and in a
// graph of basic operations are the same model.
func TestSources(t *testing.T) {
	m := large(3)
	m.Each(func(_ string, w []float32, _ []int) {
		for i := range w {
			w[i] = math.Float32frombits(math.Float32bits(w[i]) &^ 0xffff) // what bfloat16 can hold
		}
	})
	dir := folder(t, m, pooling.Mean)
	texts := sentences()
	want := encode(t, open(t, dir, Options{}), encoder.Passage, texts, encoder.NeedHidden)
	safetensors, config := filepath.Join(dir, fileSafetensors), filepath.Join(dir, fileConfig)
	with := func(name string, b []byte) string {
		other := t.TempDir()
		for _, n := range []string{"tokenizer.json", modelspec.SpecFile, fileConfig} {
			if n == fileConfig && b != nil && name == fileONNX {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, n))
			if err := errors.Join(err, os.WriteFile(filepath.Join(other, n), text, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if b != nil {
			if err := os.WriteFile(filepath.Join(other, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if err := provision.ExportONNX(t.Context(), safetensors, config, filepath.Join(other, name)); err != nil {
			t.Fatal(err)
		}
		return other
	}
	plain, err := os.ReadFile(safetensors)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"bfloat16":        with(fileSafetensors, halved(t, plain)),
		"our own graph":   with(fileONNX, nil),
		"published graph": with(fileONNX, basicGraph(m)),
	} {
		e := open(t, other, Options{})
		if err := encoder.Check("safetensors", open(t, dir, Options{}).Fingerprint(), e.Fingerprint()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, got := range encode(t, e, encoder.Passage, texts, encoder.NeedHidden) {
			if !slices.Equal(got.Hidden, want[i].Hidden) {
				t.Fatalf("%s: %q has other states", name, texts[i])
			}
		}
	}
}

// halved makes a safetensors file of float32 one of bfloat16.
func halved(t *testing.T, b []byte) []byte {
	t.Helper()
	n := binary.LittleEndian.Uint64(b)
	var header map[string]map[string]any
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	for name, e := range header {
		if name == "__metadata__" {
			continue
		}
		e["dtype"] = "BF16"
		at := e["data_offsets"].([]any)
		e["data_offsets"] = []float64{at[0].(float64) / 2, at[1].(float64) / 2}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	for data := b[8+n:]; len(data) > 0; data = data[4:] {
		out = append(out, data[2], data[3])
	}
	return out
}

// checks is a context that is done from the n-th look at it on.
type checks struct {
	context.Context
	left int
}

func (c *checks) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// The context is looked at before each layer.
func TestForwardStops(t *testing.T) {
	m, err := load(t.Context(), folder(t, large(5), pooling.Mean), Options{Precision: FP32})
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(m.layers) + 1 {
		_, err := m.forward(&checks{t.Context(), n}, new(buffers), []int32{2, 9, 3}, nil, []int{3})
		if stopped := errors.Is(err, context.Canceled); stopped != (n < len(m.layers)) {
			t.Errorf("done before layer %d of %d: %v", n, len(m.layers), err)
		}
	}
}

// Among many tokens the context is looked at within a layer, too: products and
// attention are cut into stretches.
func TestForwardStopsWithinALayer(t *testing.T) {
	m, err := load(t.Context(), families(t)["qwen3"], Options{Precision: FP32}) // of 3 layers and 2 heads of keys
	if err != nil {
		t.Fatal(err)
	}
	const n = 3*stretch - 5
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(3 + i%30)
	}
	looks := 3 * (1 + 4*2 + 2*2) // layers × (before + products × stretches + heads × stretches)
	for left := range looks + 1 {
		_, err := m.forward(&checks{t.Context(), left}, new(buffers), ids, nil, []int{n})
		if stopped := errors.Is(err, context.Canceled); stopped != (left < looks) {
			t.Fatalf("done at look %d of %d: %v", left, looks, err)
		}
	}
}
