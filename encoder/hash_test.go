package encoder_test

import (
	"context"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
)

func TestHashConforms(t *testing.T) {
	for _, dim := range []int{16, 256} {
		encodertest.Run(t, func(*testing.T) encoder.Encoder { return encoder.NewHash(dim) })
	}
}

func dense(t testing.TB, e encoder.Encoder, texts ...string) [][]float32 {
	t.Helper()
	out, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	vectors := make([][]float32, len(out))
	for i := range out {
		vectors[i] = out[i].Dense
	}
	return vectors
}

func dot(a, b []float32) (s float32) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// TestHashNear: texts with more in common are nearer.
func TestHashNear(t *testing.T) {
	v := dense(t, encoder.NewHash(384),
		"green plants turn sunlight into sugar",
		"into sugar green plants turn sunlight", // the same words
		"a plant turned the sunlight to sugars", // parts of them
		"quarterly revenue of the bank grew by five percent")
	same, parts, none := dot(v[0], v[1]), dot(v[0], v[2]), dot(v[0], v[3])
	t.Logf("same words %.3f, parts of words %.3f, other words %.3f", same, parts, none)
	if !(same < 0.9999 && same > parts+0.2 && parts > none+0.2) {
		t.Errorf("cosines: same words %.3f, parts of words %.3f, other words %.3f", same, parts, none)
	}
}

// TestHashStable pins a vector, as databases keep them.
func TestHashStable(t *testing.T) {
	h := encoder.NewHash(0)
	if h.Dim() != 256 {
		t.Errorf("dimension %d, want 256", h.Dim())
	}
	want := []float32{-0.03143969, 0.016066855, -0.10688971, -0.06706958, -0.002375328, 0.12729448, 0.07868118, -0.06718695}
	for i, x := range want {
		if got := dense(t, h, "The quick brown fox")[0][i]; got < x-1e-5 || got > x+1e-5 {
			t.Errorf("component %d is %v, want %v", i, got, x)
		}
	}
	tiny := dense(t, encoder.NewHash(1), "", "a", "the cat sat")
	for i, v := range tiny {
		if v[0] != 1 && v[0] != -1 {
			t.Errorf("dimension 1, text %d: %v", i, v)
		}
	}
}
