//go:build cgo && unix

package native

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// both opens a model natively and with ONNX Runtime, of what is in the cache.
func both(t testing.TB, model string, workers int) (*Encoder, *onnx.Encoder) {
	t.Helper()
	r, err := provision.Ensure(t.Context(), provision.Request{Model: model, Offline: true})
	if errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT COMPARED with ONNX Runtime, which or whose model is not in the cache; run `lexsem setup --model %s`: %v", model, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), r.ModelDir, Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	o, err := onnx.Open(t.Context(), r.ModelDir, onnx.Options{Library: r.Library, Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), o.Close()); err != nil {
			t.Error(err)
		}
	})
	return e, o
}

// Vectors and states of both are those of one encoder; the short form compares the
// default model.
func TestEqualsONNXRuntime(t *testing.T) {
	texts, _, _ := recorded(t)
	if texts = texts[:40]; testing.Short() {
		texts = texts[:10]
	}
	for _, model := range []string{"all-MiniLM-L6-v2", "bge-small-en-v1.5", "e5-small-v2"} {
		t.Run(model, func(t *testing.T) {
			if model != "all-MiniLM-L6-v2" && !trial.Long() {
				t.Skip("NOT COMPARED without LEXSEM_LONG=1, which .ci/run sets")
			}
			e, o := both(t, model, 0)
			if err := encoder.Check("ONNX Runtime", o.Fingerprint(), e.Fingerprint()); err != nil {
				t.Error(err)
			}
			need := encoder.NeedDense | encoder.NeedHidden
			want, err := o.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), need)
			if err != nil {
				t.Fatal(err)
			}
			var dense, hidden float64
			for i, got := range encode(t, e, encoder.Query, texts, need) {
				dense = max(dense, encoders.Distance(got.Dense, want[i].Dense))
				hidden = max(hidden, encoders.Distance(got.Hidden, want[i].Hidden))
			}
			t.Logf("largest difference of %d texts: vectors %.2g, token states %.2g", len(texts), dense, hidden)
			if !(dense <= 5e-6) || !(hidden <= 1e-4) { // states have components of up to 8
				t.Errorf("vectors differ by up to %v, token states by %v", dense, hidden)
			}
		})
	}
}

// BenchmarkEncode encodes the recorded texts with one worker, in turns natively,
// natively in Int8 and with ONNX Runtime, and a query of 12 tokens. Where
// LEXSEM_ONNX_INT8 names the folder of a model that ONNX Runtime has quantised,
// that is run, too. The figures to read are of CPU time, and among them ratios to
// ONNX Runtime, which other load does not change much.
func BenchmarkEncode(b *testing.B) {
	texts, _, _ := recorded(b)
	b.Run("passages", func(b *testing.B) { inTurns(b, texts, encoder.Passage) })
	b.Run("query", func(b *testing.B) { inTurns(b, []string{"who was the first man to walk on the moon"}, encoder.Query) })
}

func inTurns(b *testing.B, texts []string, role encoder.Role) {
	e, o := both(b, "", 1)
	small := open(b, provisioned(b), Options{Workers: 1, Precision: Int8})
	encoders, names := []encoder.Encoder{o, e, small}, []string{"onnx", "fp32", "int8"}
	if dir := os.Getenv("LEXSEM_ONNX_INT8"); dir != "" {
		r, err := provision.Ensure(b.Context(), provision.Request{Model: dir, Offline: true})
		if err != nil {
			b.Fatal(err)
		}
		q, err := onnx.Open(b.Context(), r.ModelDir, onnx.Options{Library: r.Library, Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		encoders, names = append(encoders, q), append(names, "onnx-int8")
	}
	spent := make([]time.Duration, len(encoders))
	for b.Loop() {
		for i, enc := range encoders {
			begin := process.CPUTime()
			if _, err := enc.Encode(b.Context(), role, encoder.Texts(texts...), encoder.NeedDense); err != nil {
				b.Fatal(err)
			}
			spent[i] += process.CPUTime() - begin
		}
	}
	for i, name := range names {
		b.ReportMetric(float64(b.N*len(texts))/spent[i].Seconds(), name+"-texts/cpu-s")
		if i > 0 {
			b.ReportMetric(spent[0].Seconds()/spent[i].Seconds(), name+"-ratio")
		}
	}
	for _, enc := range encoders[2:] {
		if err := enc.Close(); err != nil {
			b.Error(err)
		}
	}
}

// Behind Dense modules, too, both are one encoder.
func TestFolderEqualsONNXRuntime(t *testing.T) {
	dir, _, _ := sentenceFolder(t, large(10), "weightedmean_tokens", "activation.Tanh")
	r, err := provision.Ensure(t.Context(), provision.Request{Offline: true})
	if errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT COMPARED with ONNX Runtime, which is not in the cache: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.ExportONNX(t.Context(), filepath.Join(dir, fileSafetensors), filepath.Join(dir, fileConfig), filepath.Join(dir, fileONNX)); err != nil {
		t.Fatal(err)
	}
	o, err := onnx.Open(t.Context(), dir, onnx.Options{Library: r.Library})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	e := open(t, dir, Options{})
	if err := encoder.Check("ONNX Runtime", o.Fingerprint(), e.Fingerprint()); err != nil || o.Dim() != denseDim {
		t.Errorf("dimension %d, %v", o.Dim(), err)
	}
	texts := sentences()
	want, err := o.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range encode(t, e, encoder.Query, texts, encoder.NeedDense) {
		if far := encoders.Distance(got.Dense, want[i].Dense); !(far <= 5e-6) {
			t.Errorf("%q: vectors differ by %v", texts[i], far)
		}
	}
	if _, err := o.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), encoder.NeedHidden); !errors.Is(err, encoder.ErrNoHidden) {
		t.Errorf("states behind an activation: %v, want ErrNoHidden", err)
	}
}
