//go:build cgo

package onnx_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// An exported checkpoint computes what BERT computes, whatever its sizes,
// names and activation; and a folder with safetensors alone is enough.
func TestExportedGraph(t *testing.T) {
	library := provisioned(t).Library
	for i, c := range []struct {
		activation, prefix string
		short              bool // of two bytes a weight
	}{{"gelu", "", false}, {"gelu_new", "bert.", false}, {"gelu", "", true}} {
		t.Run(fmt.Sprintln(c.activation, c.short), func(t *testing.T) {
			m, dir := encoders.NewTiny(uint64(i), encoders.Tiny{Activation: c.activation, Prefix: c.prefix, BFloat16: c.short}), t.TempDir()
			m.Write(t, dir)
			request := provision.Request{Model: dir, Library: library, CacheDir: t.TempDir(), Offline: true, Log: func(s string) { t.Log(s) }}
			r, err := provision.Ensure(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			e := open(t, r, onnx.Options{BatchTokens: 64})
			defer e.Close()
			if f := e.Fingerprint(); f.Pooling != "cls" || f.MaxTokens != m.Positions || f.Dim != m.Hidden {
				t.Errorf("pooling %s, limit %d, dimension %d; want cls, %d, %d", f.Pooling, f.MaxTokens, f.Dim, m.Positions, m.Hidden)
			}
			texts := []string{"", "red stones", "blue sky green sea unknown red red red blue", "sea"}
			out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedHidden)
			if err != nil {
				t.Fatal(err)
			}
			for j, o := range out {
				want := m.Forward(o.Tokens.IDs)
				if len(o.Hidden) != len(want) {
					t.Fatalf("%q: %d values, want %d", texts[j], len(o.Hidden), len(want))
				}
				for k := range want {
					if d := math.Abs(float64(o.Hidden[k]) - want[k]); !(d <= 2e-5) {
						t.Fatalf("%q: value %d is %v, want %v", texts[j], k, o.Hidden[k], want[k])
					}
				}
			}
			heads, err := e.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), encoder.NeedDense|encoder.NeedLogits)
			if c.prefix == "" {
				if !errors.Is(err, encoder.ErrNoLogits) {
					t.Errorf("logits of a model without a head: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			for j, o := range heads {
				want := m.Logits(m.Forward(o.Tokens.IDs)[:m.Hidden])
				for k := range want {
					if d := math.Abs(float64(o.Logits[k]) - want[k]); len(o.Logits) != len(want) || !(d <= 5e-5) {
						t.Fatalf("%q: logit %d is %v, want %v", texts[j], k, o.Logits[k], want[k])
					}
				}
				if plain, err := e.Encode(t.Context(), encoder.Query, encoder.Texts(texts[j:j+1]...), encoder.NeedDense); err != nil || plain[0].Logits != nil || !(encoders.Distance(plain[0].Dense, o.Dense) < 1e-5) {
					t.Errorf("%q: the vector differs with logits and without, %v", texts[j], err)
				}
			}
			again, err := provision.Ensure(t.Context(), request)
			if err != nil || !again.From[1].Cached || again.ModelDir != r.ModelDir {
				t.Errorf("a second call gave %+v, %v; want the cached folder", again, err)
			}
		})
	}
}

// A model whose probe vectors are known is read with the first text if Late is set, and computes the same.
func TestLate(t *testing.T) {
	m, dir, probes := encoders.NewTiny(3, encoders.Tiny{}), t.TempDir(), filepath.Join(t.TempDir(), "probes", "p.json")
	m.Write(t, dir)
	r, err := provision.Ensure(t.Context(), provision.Request{Model: dir, Library: provisioned(t).Library, CacheDir: t.TempDir(), Offline: true, Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	vector := func(e *onnx.Encoder) ([]float32, error) {
		out, err := e.Encode(t.Context(), encoder.Query, encoder.Texts("red stones"), encoder.NeedDense)
		if err != nil {
			return nil, err
		}
		return out[0].Dense, nil
	}
	plain := open(t, r, onnx.Options{})
	defer plain.Close()
	want, err := vector(plain)
	if err != nil {
		t.Fatal(err)
	}
	graph := filepath.Join(r.ModelDir, "model.onnx")
	for i, late := range []bool{true, true, false} {
		e := open(t, r, onnx.Options{Late: late, Probes: probes})
		defer e.Close()
		if err := encoder.Check("the model", plain.Fingerprint(), e.Fingerprint()); err != nil || !e.Fingerprint().Probed() {
			t.Errorf("opening %d: %v", i+1, err)
		}
		if err := os.Rename(graph, graph+"x"); err != nil {
			t.Fatal(err)
		}
		_, err := vector(e)
		if unread := i == 1; errors.Is(err, onnx.ErrModel) != unread {
			t.Errorf("opening %d, late %v: encoding without the file: %v", i+1, late, err)
		}
		if err := os.Rename(graph+"x", graph); err != nil {
			t.Fatal(err)
		}
		again := open(t, r, onnx.Options{Late: late, Probes: probes})
		defer again.Close()
		if got, err := vector(again); err != nil || !slices.Equal(got, want) {
			t.Errorf("opening %d, late %v: other vectors, %v", i+1, late, err)
		}
	}
}
