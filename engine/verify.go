package engine

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/store"
)

// verifySample is the number of vectors that Verify searches by themselves.
const verifySample = 1000

// Verify reads every record and checks its checksum, holds the index against
// the store, counts vectors that the graph cannot reach, and searches a sample
// of vectors by themselves. It changes nothing; writes wait meanwhile. Cost: a
// scan of the store and 1,000 searches.
func (e *Engine) Verify(ctx context.Context, progress func(Progress)) (VerifyReport, error) {
	done, err := e.use()
	if err != nil {
		return VerifyReport{}, err
	}
	defer done()
	e.apply.Lock()
	defer e.apply.Unlock()
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

	e.mu.RLock()
	defer e.mu.RUnlock()
	r.Documents = e.st.Len()
	g := e.vectors.Keeper.(index.Verifier)
	if err := g.Verify(ctx); ctx.Err() != nil {
		return r, ctx.Err()
	} else if err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("the index does not fit together: %v; it is rebuilt when its file in %s is removed", err, derivedDir))
	}
	if r.Unreachable = g.Unreachable(); r.Unreachable > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d vectors are unreachable in the graph", r.Unreachable))
	}
	if err := e.selfRecall(ctx, &r, progress); err != nil {
		return r, err
	}
	for _, b := range e.bridges {
		if b.err != nil {
			r.Problems = append(r.Problems, b.err.Error())
		}
	}
	if b := e.bridges[e.standard]; b != nil {
		r.Unfitted = b.fresh
	}
	return r, nil
}

// selfRecall searches a vector of every n-th document by itself, and holds the
// parts against the number of rows.
func (e *Engine) selfRecall(ctx context.Context, r *VerifyReport, progress func(Progress)) error {
	every := max(1, r.Documents/verifySample)
	seen, found := 0, 0
	var hits []index.Neighbor
	var chunks int
	err := e.st.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
		seen++
		chunks += len(rows)
		if seen%every != 0 {
			return nil
		}
		n := seen / every % len(rows)
		v, id := rows[n].Vector, chunk.ID(ord, n)
		var d [1]float32
		if err := e.vectors.Scores(d[:], v, []uint64{id}); err != nil {
			return err
		}
		var err error
		if hits, err = e.vectors.Search(hits[:0], v, index.SearchOptions{K: 1}); err != nil {
			return err
		}
		r.Sampled++
		// Another document with the same vector may stand first.
		if len(hits) == 1 && (hits[0].ID == id || hits[0].Distance <= d[0]) {
			found++
		}
		progress(Progress{Stage: "self-recall", Done: seen, Total: r.Documents})
		return nil
	})
	for _, p := range e.parts() {
		want := chunks
		if p == part(e.metadata) {
			want = r.Documents
		}
		if n := p.len(); err == nil && n != want {
			r.Problems = append(r.Problems, fmt.Sprintf("%s holds %d versions for %d that are stored; it is rebuilt when its file in %s is removed", p.kind(), n, want, derivedDir))
		}
	}
	if r.Sampled > 0 {
		r.SelfRecall = float64(found) / float64(r.Sampled)
	}
	return err
}
