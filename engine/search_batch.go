package engine

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
)

// SearchBatch answers several queries on one state, and returns the results of Search in the order of the queries. It
// answers all of them or none.
//
// All queries are checked first. Then 256 texts at a time are encoded together, and the searches run in parallel on all
// cores. The step "encode" of each Trace is the time of the whole batch.
//
// Errors: a *QueryError, which wraps the error of Search, for the first query of a failed check or encoder call. Cost:
// less than single searches, since the encoder works in batches.
func (e *Engine) SearchBatch(ctx context.Context, qs []Query) ([]Result, error) {
	return e.secondStage().many(ctx, qs, e.searchBatch)
}

// searchBatch is SearchBatch without a second stage.
func (e *Engine) searchBatch(ctx context.Context, qs []Query) (_ []Result, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return nil, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	runs := make([]*search.Run, len(qs))
	needs := make([]encoder.Need, len(qs)) // what their inputs lack
	for i, q := range qs {
		if q, err = e.queryVector(ctx, s, q); err == nil {
			runs[i], err = e.decide(ctx, s, q)
		}
		if r := runs[i]; err == nil && r.Plan.Dense {
			r.In, needs[i], err = e.given(ctx, r.Asked(), r.Plan.Way, r.Plan.Tokens)
		}
		if err != nil {
			return nil, misplaced(ctx, &QueryError{Position: i, Err: err}, 0)
		}
	}
	results := make([]Result, len(qs))
	ts := make([]*search.Timer, len(qs))
	for at := 0; at < len(runs); at += encodeWindow {
		end := min(at+encodeWindow, len(runs))
		some := runs[at:end]
		for i := range some {
			ts[at+i] = search.NewTimer()
		}
		if err := e.inputs(ctx, some, needs[at:end]); err != nil {
			return nil, misplaced(ctx, err, at)
		}
		for i := range some {
			if some[i].Plan.Dense {
				ts[at+i].Done("encode")
			}
		}
		if err := e.answers(ctx, some, ts[at:], results[at:]); err != nil {
			return nil, misplaced(ctx, err, at)
		}
		clear(some) // hidden states may be large
	}
	return results, ctx.Err()
}

// inputs encodes the texts of queries; those that need the same tensors share a call.
func (e *Engine) inputs(ctx context.Context, runs []*search.Run, needs []encoder.Need) error {
	for i, need := range needs {
		if need == 0 {
			continue
		}
		var texts []encoder.Input
		var ins []*modulate.Input
		var positions []int
		var must encoder.Need
		for j := i; j < len(runs); j++ {
			if r := runs[j]; needs[j] == need {
				texts, ins, positions = append(texts, queryInput(r.Asked())), append(ins, &r.In), append(positions, j)
				needs[j] = 0
				must |= r.Plan.Way.Need()
			}
		}
		err := e.encodeOptional(ctx, need, must, texts, ins)
		if one, ok := errors.AsType[*QueryError](err); ok {
			return &QueryError{Position: positions[one.Position], Err: one.Err}
		}
		if err != nil {
			return &QueryError{Position: i, Err: err}
		}
	}
	return nil
}

// answers searches for queries that have their input.
func (e *Engine) answers(ctx context.Context, runs []*search.Run, ts []*search.Timer, to []Result) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	ctx = calls.Promptly(ctx)
	for range min(runtime.GOMAXPROCS(0), len(runs)) {
		g.Go(func() (err error) {
			var i int
			defer func() {
				if err != nil {
					err = &QueryError{Position: i, Err: err}
				}
			}()
			defer snapshot.Guard(&err)()
			for {
				if i = int(next.Add(1)) - 1; i >= len(runs) {
					return nil
				}
				ts[i].Resume() // it has waited for its turn
				if to[i], err = e.answer(ctx, runs[i], ts[i]); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// answer searches for a query that has its input.
func (e *Engine) answer(ctx context.Context, r *search.Run, t *search.Timer) (Result, error) {
	if err := e.ready(ctx, r, t); err != nil {
		return Result{}, err
	}
	return e.finish(ctx, r, t)
}
