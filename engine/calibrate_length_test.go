package engine_test

import (
	"context"
	"math"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/vec"
)

// TestCalibrationOfLengths: a model that was trained for dot products gives vectors of any length. In a database of
// metric cosine it is measured, and ranks, as the same model with vectors of length 1.
func TestCalibrationOfLengths(t *testing.T) {
	inner := hash(t)
	embed := func(stretch bool) func(ctx context.Context, texts []string) ([][]float32, error) {
		return func(ctx context.Context, texts []string) ([][]float32, error) {
			out, err := inner.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
			vs := make([][]float32, len(out))
			for i, o := range out {
				o.Dense[0] += 0.866 // all texts have something in common
				vec.Normalize(o.Dense)
				if stretch {
					vec.Scale(o.Dense, float32(1+len(texts[i])%29)/3)
				}
				vs[i] = o.Dense
			}
			return vs, err
		}
	}
	var results [2]engine.Result
	var cones [2]float64
	for i, enc := range []encoder.Encoder{encoder.Func("cone", inner.Dim(), embed(false)), encoder.FuncUnscaled("cone", inner.Dim(), embed(true))} {
		dir := t.TempDir()
		e, err := engine.Open(t.Context(), dir, enc, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		add(t, e, docs(0, 80))
		results[i] = search(t, e, engine.Query{Text: "topic3 and of matter4 in a long sentence", K: 80})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		cones[i] = unrelatedOf(t, dir)
	}
	if cones[0] < 0.2 || math.Abs(cones[0]-cones[1]) > 1e-6 {
		t.Errorf("measured as %v, and with other lengths as %v", cones[0], cones[1])
	}
	for i, h := range results[0].Hits {
		if g := results[1].Hits[i]; len(results[1].Hits) != len(results[0].Hits) || math.Abs(float64(h.Score-g.Score)) > 1e-4 || math.Abs(float64(h.Modulated-g.Modulated)) > 1e-4 {
			t.Fatalf("hit %d is %s with %v (cosine %v), and with other lengths %s with %v (%v)", i+1, h.ID, h.Score, h.Modulated, g.ID, g.Score, g.Modulated)
		}
	}
}
