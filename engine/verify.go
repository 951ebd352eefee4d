package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// verifySample is the number of vectors that Verify searches by themselves.
const verifySample = 1000

// Verify reads every record and checks its checksum, holds every part of the derived
// state against its own checksums and the store, counts vectors that the graph cannot
// reach, and searches a sample of vectors by themselves. It works on one state,
// beside searches and writes, and changes nothing. Cost: a scan of the store and of
// the derived state, and 1,000 searches.
func (e *Engine) Verify(ctx context.Context, progress func(Progress)) (_ VerifyReport, err error) {
	s, done, err := e.read()
	if err != nil {
		return VerifyReport{}, err
	}
	defer done(&err)
	ctx = untilClose{ctx, e}
	defer snapshot.Guard(&err)()
	if progress == nil {
		progress = func(Progress) {}
	}
	var r VerifyReport
	st, err := e.st.Verify(ctx, func(n, total int) { progress(Progress{Stage: "verify", Done: n, Total: total}) })
	if err != nil {
		return r, err
	}
	for _, p := range st.Problems {
		r.Problems = append(r.Problems, p.Error())
	}
	r.Documents = s.View.Len()
	problems, unreachable, err := e.db.Verify(ctx, s)
	if err != nil {
		return r, err
	}
	r.Problems = append(r.Problems, problems...)
	if r.Unreachable = unreachable; unreachable > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d vectors are unreachable in the graph", unreachable))
	}
	if err := e.selfRecall(ctx, s, &r, progress); state.Damaged(err) {
		if len(problems) == 0 {
			r.Problems = append(r.Problems, err.Error())
		}
	} else if err != nil {
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

// untilClose is a context whose error is ErrClosed once Close has begun.
type untilClose struct {
	context.Context
	e *Engine
}

func (c untilClose) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	return context.Cause(c.e.root)
}

// selfRecall holds every stored vector against the index, and searches a vector of
// every n-th document by itself.
func (e *Engine) selfRecall(ctx context.Context, s *state.State, r *VerifyReport, progress func(Progress)) (err error) {
	defer snapshot.Guard(&err)()
	every := max(1, r.Documents/verifySample)
	seen, found, chunks, wrong := 0, 0, 0, 0
	var hits []index.Neighbor
	err = s.View.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
		seen++
		chunks += len(rows)
		for i, row := range rows {
			if !alike(s.Vector(chunk.ID(ord, i)), row.Vector) {
				wrong++
			}
		}
		if seen%every != 0 {
			return nil
		}
		n := seen / every % len(rows)
		v, id := rows[n].Vector, chunk.ID(ord, n)
		var d [1]float32
		if err := s.Vectors.Scores(d[:], v, []uint64{id}); err != nil {
			return err
		}
		var err error
		if hits, err = s.Vectors.Search(hits[:0], v, index.SearchOptions{K: 1, Visible: s.Sees, Ctx: ctx}); err != nil {
			return err
		}
		r.Sampled++
		// Another document with the same vector may stand first.
		if len(hits) == 1 && (hits[0].ID == id || hits[0].Distance <= d[0] && d[0] < selfDistance) {
			found++
		}
		progress(Progress{Stage: "self-recall", Done: seen, Total: r.Documents})
		return nil
	})
	if err != nil {
		return err
	}
	if wrong > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d vectors in the index are not those that are stored; the index is made anew when its files in %s are removed", wrong, state.Folder))
	}
	if chunks != s.Chunks() {
		r.Problems = append(r.Problems, fmt.Sprintf("derived state holds %d chunks of %d that are stored; it is made anew when the files in %s are removed", s.Chunks(), chunks, state.Folder))
	}
	if r.Sampled > 0 {
		r.SelfRecall = float64(found) / float64(r.Sampled)
	}
	return nil
}

// selfDistance is the most that rounding leaves between a vector and itself.
const selfDistance = 1e-4

// alike says whether a vector in the index is the stored one, which the index has
// normalised once more: that may move the last bit of a number.
func alike(indexed, stored []float32) bool {
	return slices.EqualFunc(indexed, stored, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })
}
