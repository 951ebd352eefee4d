package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// A fit of k steps is what a longer one is at step k: it has taken the same steps, and its
// held-out loss is that of the weights it ends with.
func TestFitOfSteps(t *testing.T) {
	enc := encoder.NewHash(64)
	corpus := encoded(t, enc, invented(150))
	o := Options{Stack: "llr", QueriesPerPassage: 3, Epochs: 3, Batch: 32, LearningRate: 0.5, Bias: true}
	fit := func(steps int) (*modulate.Weights, *Report, []float64) {
		t.Helper()
		var running []float64 // mean of the epoch so far, by step
		o := o
		o.Steps = steps
		o.Progress = func(stage string, done, _ int, loss float64) {
			if stage == "fit" {
				running = append(running, loss)
			}
		}
		w, r, err := Fit(t.Context(), corpus, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Steps != len(running) || len(r.Losses) != len(r.Held) {
			t.Errorf("%d steps of %d, %d losses and %d held out", r.Steps, len(running), len(r.Losses), len(r.Held))
		}
		return w, r, running
	}
	_, whole, all := fit(0)
	epoch := (whole.Queries + o.Batch - 1) / o.Batch
	for _, k := range []int{1, 3, epoch, epoch + 5} {
		w, r, got := fit(k)
		if !slices.Equal(got, all[:k]) {
			t.Errorf("%d steps went another way", k)
		}
		if r.Best != (k+epoch-1)/epoch || r.Best != len(r.Held) {
			t.Errorf("%d steps: epoch %d of %d kept", k, r.Best, len(r.Held))
		}
		if k == epoch && (r.Held[0] != whole.Held[0] || r.Losses[0] != whole.Losses[0]) {
			t.Errorf("after an epoch: losses %v, %v; the longer fit had %v, %v", r.Losses, r.Held, whole.Losses, whole.Held)
		}
		// The losses of the last steps, from the running means of their epoch.
		var want, n float64
		from := max(0, k-recentSteps)
		for i := from; i < k; i++ {
			at := i % epoch
			size := func(n int) float64 { return float64(min(n*o.Batch, whole.Queries)) }
			sum := all[i] * size(at+1)
			if at > 0 {
				sum -= all[i-1] * size(at)
			}
			want, n = want+sum, n+size(at+1)-size(at)
		}
		if math.Abs(w.Loss-want/n) > 1e-9 {
			t.Errorf("%d steps have the loss %v, want %v", k, w.Loss, want/n)
		}
		if k > 1 {
			_, before, _ := fit(k - 1)
			if before.Held[len(before.Held)-1] == r.Held[len(r.Held)-1] {
				t.Errorf("step %d changed nothing", k)
			}
		}
	}
	if _, r, _ := fit(1 << 20); r.Steps != whole.Steps || r.Best != whole.Best {
		t.Errorf("with more steps than there are: %d, epoch %d kept; without %d, %d", r.Steps, r.Best, whole.Steps, whole.Best)
	}
	o.Steps = -1
	if _, _, err := Fit(t.Context(), corpus, enc, o); !errors.Is(err, ErrOptions) {
		t.Errorf("-1 steps: %v", err)
	}
}

// A fit of some steps that was stopped goes on to the bytes of one that was not.
func TestFitOfStepsResumes(t *testing.T) {
	o, make := resumable("llr", true)
	enc, corpus := make(t)
	o.Steps = 9
	want := bridgeBytes(t, enc, corpus, o)
	o.Checkpoint = filepath.Join(t.TempDir(), "fit")
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(stage string, done, _ int, _ float64) {
		if stage == "fit" && done == 7 {
			cancel()
		}
	}
	if _, _, err := Fit(ctx, corpus, enc, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Progress = nil
	if string(bridgeBytes(t, enc, corpus, o)) != string(want) {
		t.Error("the resumed fit made another bridge")
	}
}
