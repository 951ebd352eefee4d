package engine

import (
	"context"
	"math"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// Bounds of a comparison of sampled vectors with all: multiplications, and numbers kept.
const (
	exactWork   = 1e11
	exactSample = 16 << 20
)

// exactRecall searches a stored vector of every n-th document. By the dot product a vector
// need not be its own nearest, so each counts as found where nothing stored has a better
// score than what the search names first; a scan of the records tells.
func (e *Engine) exactRecall(ctx context.Context, s *state.State, r *VerifyReport, report func(stage string, done, total int)) (err error) {
	defer snapshot.Guard(&err)()
	x, err := e.searchSample(ctx, s, r)
	if err != nil {
		return err
	}
	done := 0
	err = s.View.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
		for i, row := range rows {
			x.meet(chunk.ID(ord, i), row.Vector)
		}
		done++
		report("self-recall", done, r.Documents)
		return nil
	})
	found := 0
	for i := range x.best {
		if x.found(i) {
			found++
		}
	}
	r.recalled(s, found, err == nil)
	return err
}

// recallSample are stored vectors that were searched.
type recallSample struct {
	by      metric.Metric
	vectors []float32        // [n × dim]
	named   map[uint64][]int // by the chunk that was found first, for which of them
	score   []float32        // of what was found first, as far as it was met
	best    []float32        // of all that was met
	now     []float32
}

// searchSample takes and searches as many vectors as the bounds allow.
func (e *Engine) searchSample(ctx context.Context, s *state.State, r *VerifyReport) (*recallSample, error) {
	dim := float64(e.fp.Dim)
	n := max(1, min(verifySample, exactWork/dim/float64(max(1, s.Chunks())), exactSample/dim))
	every := max(1, int(math.Ceil(float64(r.Documents)/n)))
	x := &recallSample{by: s.Metric, named: map[uint64][]int{}}
	err := e.searchStored(ctx, s, r, every, func(_ int, _ uint64, v []float32, hits []index.Neighbor) error {
		if len(hits) == 1 {
			x.named[hits[0].ID] = append(x.named[hits[0].ID], r.Sampled-1)
		}
		x.vectors = append(x.vectors, v...)
		return nil
	})
	for range r.Sampled {
		x.score, x.best = append(x.score, float32(math.Inf(-1))), append(x.best, float32(math.Inf(-1)))
	}
	x.now = make([]float32, r.Sampled)
	return x, err
}

// meet compares the sample with a stored vector.
func (x *recallSample) meet(id uint64, v []float32) {
	x.by.Scores(x.now, v, x.vectors)
	for i, s := range x.now {
		x.best[i] = max(x.best[i], s)
	}
	for _, i := range x.named[id] {
		x.score[i] = x.now[i]
	}
}

// exactRounding is the share of a score that rounding may take.
const exactRounding = 1e-5

// found says whether nothing was met that is better than what was found first.
func (x *recallSample) found(i int) bool {
	return x.score[i] >= x.best[i]-exactRounding*float32(math.Abs(float64(x.best[i])))
}
