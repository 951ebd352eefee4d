package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// verifySample is the number of stored vectors for which Verify searches.
const verifySample = 1000

// Verify checks the whole database and changes nothing. It works on one state, while searches and writes continue.
// Problems are in the report. progress may be nil. Errors: that of ctx, within some 10 ms; read errors of the system.
//
// It checks every record's checksum and compares the derived state with the records: vectors, int8 codes, postings,
// lengths, metadata columns and RLR's tokens. It recomputes a random sample of the sufficient statistics, factor and
// local bridges. It counts vectors that the graph cannot reach, and searches for a sample of stored vectors.
//
// Cost: three scans of the store, one of the derived state, the analysis of all texts, and 1,000 searches. A metric
// other than cosine adds one scan and up to 10¹¹ multiplications.
func (e *Engine) Verify(ctx context.Context, progress func(Progress)) (_ VerifyReport, err error) {
	ctx, ended, err := e.work(ctx)
	if err != nil {
		return VerifyReport{}, err
	}
	defer ended(&err)
	s, done, err := e.read()
	if err != nil {
		return VerifyReport{}, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	report := func(stage string, n, total int) {
		if progress != nil {
			progress(Progress{Stage: stage, Done: n, Total: total})
		}
	}
	var r VerifyReport
	st, err := e.st.Verify(ctx, func(n, total int) { report("verify", n, total) })
	if err != nil && len(st.Problems) == 0 {
		return r, err
	}
	for _, p := range st.Problems {
		r.Problems = append(r.Problems, p.Error())
	}
	r.Damaged = len(st.Problems) > 0
	r.Documents = s.View.Len()
	proof, err := e.db.Verify(ctx, s, report)
	r.Problems = append(r.Problems, proof.Problems...)
	r.Vectors, r.Unreachable = proof.Vectors, proof.Unreachable
	r.SumsRecounted, r.Sums, r.CellsRecounted, r.Cells = proof.SumsRecounted, proof.Sums, proof.CellsRecounted, proof.Cells
	if r.Unreachable > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d vectors are unreachable in the graph", r.Unreachable))
	}
	if err == nil {
		if e.metric.Directions() {
			err = e.selfRecall(ctx, s, &r, report)
		} else {
			err = e.exactRecall(ctx, s, &r, report)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.Is(err, store.ErrCorrupt), state.Damaged(err):
		// Later steps meet the same damage again, which is already listed.
		if r.Damaged = r.Damaged || errors.Is(err, store.ErrCorrupt); len(r.Problems) == 0 {
			r.Problems = append(r.Problems, err.Error())
		}
	default:
		return r, err
	}
	for _, b := range s.Bridges {
		if b.Err != nil {
			r.Problems = append(r.Problems, b.Err.Error())
		}
	}
	if b := s.Bridges[s.Standard]; b != nil {
		r.Unfitted = b.Fresh
	}
	return r, nil
}

// selfRecall searches for a stored vector of every n-th document. It counts as found if the nearest hit is
// close and, according to the store, has this vector or an equal one.
func (e *Engine) selfRecall(ctx context.Context, s *state.State, r *VerifyReport, report func(stage string, done, total int)) (err error) {
	defer snapshot.Guard(&err)()
	found := 0
	err = e.searchStored(ctx, s, r, max(1, r.Documents/verifySample), func(seen int, id uint64, v []float32, hits []index.Neighbor) error {
		if len(hits) == 1 && hits[0].Distance < selfDistance {
			if like, err := storedLike(ctx, s.View, hits[0].ID, id, v); err != nil {
				return err
			} else if like {
				found++
			}
		}
		report("self-recall", seen, r.Documents)
		return nil
	})
	r.recalled(s, found, err == nil)
	return err
}

// searchStored searches for a stored vector of every every-th document. It calls f with the number of the
// document, from 1, the vector and the first hit.
func (e *Engine) searchStored(ctx context.Context, s *state.State, r *VerifyReport, every int, f func(seen int, id uint64, v []float32, hits []index.Neighbor) error) error {
	seen := 0
	var hits []index.Neighbor
	return s.View.Scan(ctx, 0, func(ord uint64, rows []store.Row) (err error) {
		if seen++; seen%every != 0 {
			return nil
		}
		n := seen / every % len(rows)
		if len(rows[n].Vector) == 0 {
			return nil
		}
		if hits, err = s.Vectors.Search(hits[:0], rows[n].Vector, index.SearchOptions{K: 1, Visible: s.Sees, Ctx: ctx}); err != nil {
			return err
		}
		r.Sampled++
		return f(seen, chunk.ID(ord, n), rows[n].Vector, hits)
	})
}

// recalled records how many of the sampled vectors were found; without samples, all. An exact index must find
// all of a whole sample.
func (r *VerifyReport) recalled(s *state.State, found int, whole bool) {
	if r.SelfRecall = 1; r.Sampled > 0 {
		r.SelfRecall = float64(found) / float64(r.Sampled)
	}
	if whole && found < r.Sampled && strings.HasPrefix(s.Vectors.Kind, index.KindFlat) {
		r.Problems = append(r.Problems, fmt.Sprintf("%d of %d stored vectors are not found by an exact search", r.Sampled-found, r.Sampled))
	}
}

// storedLike reports whether the chunk found for v is the wanted one, or has the same stored vector up to
// rounding.
func storedLike(ctx context.Context, view *store.View, found, wanted uint64, v []float32) (bool, error) {
	if found == wanted {
		return true, nil
	}
	rows, err := view.Rows(ctx, chunk.Ord(found))
	if err != nil || chunk.Number(found) >= len(rows) {
		return false, err
	}
	var dot, a, b float64
	for i, x := range rows[chunk.Number(found)].Vector {
		dot, a, b = dot+float64(x)*float64(v[i]), a+float64(x)*float64(x), b+float64(v[i])*float64(v[i])
	}
	return 1-dot/math.Sqrt(a*b) < selfDistance, nil
}

// selfDistance is the maximum distance that rounding leaves between a vector and itself.
const selfDistance = 1e-4

// Bounds for comparing sampled vectors with all: multiplications, and numbers kept in memory.
const (
	exactWork   = 1e11
	exactSample = 16 << 20
)

// exactRecall searches for a stored vector of every n-th document. By the dot product a vector need not be
// its own nearest. So a vector counts as found if no stored vector scores better than the first hit; a scan
// of the records checks this.
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

// recallSample is a sample of stored vectors that were searched for.
type recallSample struct {
	by      metric.Metric
	vectors []float32        // [n × dim]
	named   map[uint64][]int // by the chunk that was found first, for which of them
	score   []float32        // of what was found first, as far as it was met
	best    []float32        // of all that was met
	now     []float32
}

// searchSample draws as many vectors as the bounds allow, and searches for them.
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

// exactRounding is the tolerance for rounding, as a share of a score.
const exactRounding = 1e-5

// found reports whether no better vector than the first hit was met.
func (x *recallSample) found(i int) bool {
	return x.score[i] >= x.best[i]-exactRounding*float32(math.Abs(float64(x.best[i])))
}
