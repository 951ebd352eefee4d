//go:build cgo

package onnx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// The published int8 twins tokenize as their models do, and their vectors point
// about where the models' do: a twin of another model, pooling or prefix would not.
// The short form compares the first that is in the cache.
func TestTwins(t *testing.T) {
	var tried int
	for _, m := range provision.Models() {
		name, ok := strings.CutSuffix(m.Spec.Model, "-q")
		if !ok {
			continue
		}
		if tried > 0 && !trial.Long() {
			t.Logf("NOT COMPARED without LEXSEM_LONG=1, which .ci/run sets: %s", m.Spec.Model)
			continue
		}
		var out [2][]encoder.Output
		for i, model := range []string{name, m.Spec.Model} {
			r, err := provision.Ensure(t.Context(), provision.Request{Model: model, Offline: true})
			if errors.Is(err, encoder.ErrUnavailable) {
				t.Logf("NOT COMPARED: %s is not in the cache; run `lexsem setup --model %s`", model, model)
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			e := open(t, r, onnx.Options{})
			if out[i], err = e.Encode(t.Context(), encoder.Query, encoder.Texts(goldenStrings(loadGolden(t)[:40])...), encoder.NeedDense); err != nil {
				t.Fatal(err)
			}
			if f := e.Fingerprint(); f.Precision != m.Spec.Precision && i == 1 {
				t.Errorf("%s is of precision %s", model, f.Precision)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if out[1] == nil || out[0] == nil {
			continue
		}
		tried++
		var sum, least float64 = 0, 1
		for i := range out[0] {
			var c float64
			for k, x := range out[0][i].Dense {
				c += float64(x) * float64(out[1][i].Dense[k])
			}
			sum, least = sum+c, min(least, c)
		}
		mean := sum / float64(len(out[0]))
		t.Logf("%s: cosine to the model's vectors %.4f in the mean, %.4f at least", m.Spec.Model, mean, least)
		if mean < .97 || mean > .9999 {
			t.Errorf("%s: mean cosine %v", m.Spec.Model, mean)
		}
	}
	if tried == 0 {
		t.Skip("no twin is in the cache beside its model")
	}
}
