package train

import (
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// A descent that begins to learn by heart is stopped, and its best epoch kept.
func TestFitStopsEarly(t *testing.T) {
	enc := encoder.NewHash(64)
	corpus := encoded(t, enc, invented(150))
	o := Options{Stack: "llr", QueriesPerPassage: 3, Epochs: 30, Batch: 32, LearningRate: 0.5, Bias: true}
	w, r, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("losses %.3f, held out %.3f, best %d", r.Losses, r.Held, r.Best)
	n := len(r.Held)
	if n == 30 || n < 2 || !(r.Held[n-1] > r.Held[n-2]) || len(r.Losses) != n {
		t.Errorf("%d epochs with the held-out losses %.4f: want an end after the first that is worse", n, r.Held)
	}
	if r.Held[r.Best-1] != slices.Min(r.Held) || w.Loss != r.Losses[r.Best-1] {
		t.Errorf("best epoch %d of %.4f, recorded loss %v of %v", r.Best, r.Held, w.Loss, r.Losses)
	}
	if o, err = o.defaults(); err != nil {
		t.Fatal(err)
	}
	set, err := readPassages(t.Context(), corpus, 64, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modulate.NewStack("llr", modulate.Parts{Weights: w})
	if err != nil {
		t.Fatal(err)
	}
	held, err := drawProbes(t.Context(), enc, set, m.Need(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Rounding the rows moves the loss by less than another epoch would.
	if loss, err := held.loss(t.Context(), set, m, o); err != nil || math.Abs(loss-r.Held[r.Best-1]) > 2e-4 {
		t.Errorf("the weights have the held-out loss %v, %v; the best epoch had %v", loss, err, r.Held[r.Best-1])
	}
}
