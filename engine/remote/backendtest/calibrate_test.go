package backendtest_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

// TestCalibration: an index keeps how near its encoder places unrelated texts, and every process fuses by it.
func TestCalibration(t *testing.T) {
	hash := encoder.NewHash(64)
	embed := func(ctx context.Context, texts []string) ([][]float32, error) {
		out, err := hash.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
		vectors := make([][]float32, len(out))
		for i, o := range out {
			o.Dense[0] += 2
			vectors[i] = o.Dense
		}
		return vectors, err
	}
	narrow := encoder.Func("narrow", 64, embed)
	down := errors.New("down")
	if _, err := remote.Over(t.Context(), still{&backendtest.Memory{}}, encoder.Func("narrow", 64, func(context.Context, []string) ([][]float32, error) { return nil, down }), remote.Options{Create: true}); !errors.Is(err, down) {
		t.Errorf("of an encoder that is down: %v", err)
	}
	m := &backendtest.Memory{}
	added(t, overBy(t, m, narrow, remote.Options{Create: true}), 0, 20)
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scale := fusion.Scale(info.Encoder.Unrelated)
	if info.Encoder.Unrelated < 0.6 || scale < 1.4 {
		t.Fatalf("unrelated texts have %v, a scale of %v", info.Encoder.Unrelated, scale)
	}
	r := overBy(t, m, narrow, remote.Options{})
	q := engine.Query{Text: "text 7 of kind 2", K: 20}
	x, err := r.Explain(t.Context(), q, "7")
	if err != nil || x.Terms[0].Name != "cosine" || math.Abs(x.Terms[0].Weight-scale) > 1e-9 {
		t.Errorf("%+v, %v; want a weight of %v", x.Terms, err, scale)
	}
	res, err := r.Search(t.Context(), q)
	if err != nil || len(res.Hits) == 0 || res.Hits[0].ID != "7" || math.Abs(float64(res.Hits[0].Score)-sum(x.Terms)) > 1e-5 {
		t.Errorf("%+v, %v", res.Hits, err)
	}
}

func sum(terms []fusion.Term) (s float64) {
	for _, t := range terms {
		s += t.Weight * t.Value
	}
	return s
}
