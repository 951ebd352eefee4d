package modulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/modulate"
)

// sheet is a tensor of a file under test.
type sheet struct {
	name  string
	shape []int
	data  []float32
}

// safetensorsOf makes a file of F32 tensors.
func safetensorsOf(meta map[string]string, tensors ...sheet) []byte {
	f := safetensorstest.New(meta)
	for _, s := range tensors {
		f.Add(s.name, s.data, s.shape...)
	}
	return f.Bytes()
}

func importFile(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bridge.safetensors")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func numbers(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// transpose turns rows × cols numbers into cols × rows.
func transpose(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range cols {
			y[j*rows+i] = x[i*cols+j]
		}
	}
	return y
}

// An imported bridge modulates as its equations say, whichever way round its
// matrices stand, and survives being saved.
func TestImport(t *testing.T) {
	const d, vocab = 8, 20
	rng := rand.New(rand.NewPCG(1, 2))
	fp := encoder.Fingerprint{Model: "m", Precision: "fp32", Dim: d, VocabSize: vocab}
	raw, err := json.Marshal(fp)
	if err != nil {
		t.Fatal(err)
	}
	w, bias := numbers(rng, d*vocab), numbers(rng, d) // W row-major [d × |V|]
	for i := range d {
		w[i*vocab+7] = 0 // token 7 has no column
	}
	u, b := numbers(rng, d), float32(0.3)
	full, fullB := numbers(rng, vocab*d), numbers(rng, vocab)
	meta := map[string]string{"lexsem.encoder": string(raw)}

	q := make([]float32, d)
	q[0], q[3] = 0.6, -0.8
	in := modulate.Input{
		Tokens: encoder.Tokens{IDs: []int32{0, 3, 7, 5, 0}, Special: []bool{true, false, false, false, true}},
		Dense:  q, Hidden: numbers(rng, 5*d),
	}
	want := func(weight func(j int) float64) []float32 {
		out := make([]float32, d)
		var ss float64
		for i := range d {
			z := float64(bias[i])
			for _, j := range []int{1, 2, 3} {
				z += float64(w[i*vocab+int(in.Tokens.IDs[j])]) * weight(j)
			}
			z *= 2. / 3 // neither the bridge nor a passage has token 7
			out[i] = float32(float64(q[i]) * math.Exp(z))
			ss += float64(out[i]) * float64(out[i])
		}
		for i := range out {
			out[i] /= float32(math.Sqrt(ss))
		}
		return out
	}
	slr := want(func(int) float64 { return math.Ln2 })
	llr := want(func(j int) float64 {
		a := float64(b)
		for i := range d {
			a += float64(in.Hidden[j*d+i]) * float64(u[i])
		}
		return math.Log1p(max(0, a))
	})
	for _, c := range []struct {
		name, stack string
		tensors     []sheet
		want        []float32 // nil: only that it works
	}{
		{"slr", "slr", []sheet{{"linear.weight", []int{d, vocab}, w}, {"linear.bias", []int{d}, bias}}, slr},
		{"turned, behind a prefix", "slr", []sheet{{"bridge.linear.weight", []int{vocab, d}, transpose(w, d, vocab)}, {"bridge.linear.bias", []int{1, d}, bias}}, slr},
		{"llr", "llr", []sheet{{"linear.weight", []int{d, vocab}, w}, {"linear.bias", []int{d}, bias}, {"U", []int{1, d}, u}, {"b", []int{1}, []float32{b}}}, llr},
		{"llr-full", "llr-full", []sheet{{"linear.weight", []int{d, vocab}, w}, {"U", []int{vocab, d}, full}, {"b", []int{vocab}, fullB}}, nil},
		{"clr without b", "clr", []sheet{{"linear.weight", []int{d, vocab}, w}, {"x.U", []int{d, vocab}, transpose(full, vocab, d)}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modulate.Import(importFile(t, safetensorsOf(meta, c.tensors...)), c.stack, encoder.Fingerprint{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(got.Projection.Tokens()); n != vocab-1 {
				t.Errorf("%d tokens have a row, want %d", n, vocab-1)
			}
			if got.Encoder.Model != "m" || got.Encoder.Dim != d {
				t.Errorf("encoder %+v, want that of the metadata", got.Encoder)
			}
			bytes, err := got.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := modulate.Decode(bytes)
			if err != nil {
				t.Fatal(err)
			}
			for _, weights := range []*modulate.Weights{got, again} {
				m, err := modulate.NewStack(c.stack, modulate.Parts{Weights: weights, Sums: emptySums(t, d, vocab)})
				if err != nil {
					t.Fatal(err)
				}
				out := m.Modulate(nil, in)
				if c.want != nil && !near(out, c.want, 1e-6) {
					t.Errorf("%v, want %v", out, c.want)
				}
				if slices.Equal(out, q) {
					t.Error("the bridge changed nothing")
				}
			}
		})
	}
}

func near(a, b []float32, most float64) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) <= most })
}

func TestImportRefuses(t *testing.T) {
	const d, vocab = 4, 6
	fp := encoder.Fingerprint{Model: "m", Dim: d, VocabSize: vocab}
	w := sheet{"linear.weight", []int{d, vocab}, make([]float32, d*vocab)}
	bad := sheet{"linear.weight", []int{d, vocab}, append(make([]float32, d*vocab-1), float32(math.NaN()))}
	ok := safetensorsOf(nil, w)
	for _, c := range []struct {
		name, stack string
		file        []byte
		trust       encoder.Fingerprint
		err         error
		text        string
	}{
		{"nothing fitted", "rlr", ok, fp, modulate.ErrOptions, "rlr"},
		{"two parts", "slr+llr", ok, fp, modulate.ErrOptions, "two"},
		{"unknown", "slrr", ok, fp, modulate.ErrUnknownVariant, "slrr"},
		{"no encoder", "slr", ok, encoder.Fingerprint{}, modulate.ErrNoEncoder, "lexsem.encoder"},
		{"encoder is no JSON", "slr", safetensorsOf(map[string]string{"lexsem.encoder": "x"}, w), fp, modulate.ErrCorrupt, "lexsem.encoder"},
		{"encoder of nothing", "slr", safetensorsOf(map[string]string{"lexsem.encoder": "{}"}, w), fp, modulate.ErrCorrupt, "dimension 0"},
		{"huge vocabulary", "slr", ok, encoder.Fingerprint{Dim: d, VocabSize: 1 << 40}, modulate.ErrCorrupt, "tokens"},
		{"no W", "slr", safetensorsOf(nil), fp, modulate.ErrCorrupt, "linear.weight"},
		{"other shape", "slr", safetensorsOf(nil, sheet{"linear.weight", []int{d, vocab + 1}, make([]float32, d*(vocab+1))}), fp, modulate.ErrCorrupt, "[4 7]"},
		{"two W", "slr", safetensorsOf(nil, sheet{"a.linear.weight", w.shape, w.data}, sheet{"b.linear.weight", w.shape, w.data}), fp, modulate.ErrCorrupt, "a.linear.weight"},
		{"not finite", "slr", safetensorsOf(nil, bad), fp, modulate.ErrCorrupt, "finite"},
		{"bias too long", "slr", safetensorsOf(nil, w, sheet{"linear.bias", []int{d + 1}, make([]float32, d+1)}), fp, modulate.ErrCorrupt, "linear.bias"},
		{"no U", "llr", ok, fp, modulate.ErrCorrupt, "U"},
		{"U of another form", "llr", safetensorsOf(nil, w, sheet{"U", []int{vocab, d}, make([]float32, d*vocab)}), fp, modulate.ErrCorrupt, `"U"`},
		{"cut", "slr", ok[:len(ok)-1], fp, modulate.ErrCorrupt, "linear.weight"},
		{"empty", "slr", nil, fp, modulate.ErrCorrupt, "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := modulate.Import(importFile(t, c.file), c.stack, c.trust)
			if !errors.Is(err, c.err) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%v; want %v that names %q", err, c.err, c.text)
			}
		})
	}
}

// Whatever the bytes, what is imported can be saved and used.
func FuzzImport(f *testing.F) {
	const d, vocab = 4, 6
	fp := encoder.Fingerprint{Model: "m", Dim: d, VocabSize: vocab}
	ones := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
	f.Add(safetensorsOf(nil, sheet{"linear.weight", []int{d, vocab}, ones(d * vocab)}), "slr")
	f.Add(safetensorsOf(nil, sheet{"linear.weight", []int{d, vocab}, ones(d * vocab)}, sheet{"U", []int{d}, ones(d)}), "rlr+llr")
	f.Add(safetensorsOf(nil, sheet{"linear.weight", []int{d, vocab}, ones(d * vocab)}, sheet{"U", []int{vocab, d}, ones(d * vocab)}), "llr-full")
	for _, x := range []float32{math.MaxFloat32, 1e9} { // a weight times a number is infinite, or the greatest that is read
		f.Add(safetensorsOf(nil, sheet{"linear.weight", []int{d, vocab}, slices.Repeat([]float32{1, -x, x}, d*vocab/3)}, sheet{"linear.bias", []int{d}, slices.Repeat([]float32{x, -x}, d/2)},
			sheet{"U", []int{vocab, d}, slices.Repeat([]float32{x}, d*vocab)}, sheet{"b", []int{vocab}, slices.Repeat([]float32{x}, vocab)}), "clr")
	}
	f.Fuzz(func(t *testing.T, b []byte, stack string) {
		w, err := modulate.Import(importFile(t, b), stack, fp)
		if err != nil {
			return
		}
		if _, err := w.Encode(); err != nil {
			t.Fatalf("imported, but cannot be saved: %v", err)
		}
		sums := emptySums(t, w.Encoder.Dim, w.Encoder.VocabSize)
		m, err := modulate.NewStack(w.Stack, modulate.Parts{Weights: w, Sums: sums})
		if err != nil {
			t.Fatal(err)
		}
		q := make([]float32, w.Encoder.Dim)
		q[0] = 1
		for _, x := range m.Modulate(nil, modulate.Input{Tokens: encoder.Tokens{IDs: []int32{1}, Special: []bool{false}}, Dense: q, Hidden: q}) {
			if x-x != 0 {
				t.Fatal("modulation is not finite")
			}
		}
	})
}

func emptySums(t *testing.T, d, vocab int) *ridge.Sums {
	t.Helper()
	s, err := ridge.NewSums(d, vocab, 0, func(uint64, *[]float32) []float32 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}
