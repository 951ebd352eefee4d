package encoder

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

// TestUnrelated: the mean is that of the pairs of the language that the model tells apart best, whatever texts in others do.
func TestUnrelated(t *testing.T) {
	seen, all := map[string]bool{}, 0
	for _, s := range strangers {
		for _, text := range s {
			seen[text] = true
			all++
		}
	}
	if all != 64 || len(seen) != all {
		t.Fatalf("%d sentences, %d distinct", all, len(seen))
	}
	english := func(text string) bool { return slices.Contains(strangers[0], text) }
	for _, want := range []float64{0.7, 0.1} {
		at := 0
		enc := Func("cone", 80, func(_ context.Context, texts []string) ([][]float32, error) {
			out := make([][]float32, len(texts))
			for i, text := range texts {
				v := make([]float32, 80)
				c := want
				if !english(text) {
					c = .95
				}
				v[0] = float32(math.Sqrt(c)) // in common
				at++
				v[at%79+1] = float32(math.Sqrt(1 - c))
				out[i] = v
			}
			return out, nil
		})
		got, err := Unrelated(t.Context(), enc)
		if err != nil || math.Abs(got-want) > 1e-6 {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	one := Func("one", 2, func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = []float32{float32(i % 2), float32((i + 1) % 2)}
		}
		return out, nil
	})
	if got, err := Unrelated(t.Context(), one); err != nil || got == 0 {
		t.Errorf("%v, %v", got, err)
	}
	down := errors.New("down")
	if _, err := Unrelated(t.Context(), Func("down", 2, func(context.Context, []string) ([][]float32, error) { return nil, down })); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Unrelated(ctx, NewHash(16)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got, err := Unrelated(t.Context(), NewHash(0)); err != nil || math.Abs(got) > 0.2 {
		t.Errorf("feature hashing: %v, %v", got, err)
	}
}
