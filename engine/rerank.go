package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/yield"
)

// Numbers of hits that a reranker rescores.
const (
	DefaultRerank = 50   // if neither Options.RerankDepth nor Query.Rerank is set
	MaxRerank     = 1000 // at most
)

// Reranker reads a query together with each text, and scores how well the text answers. Implementations are a
// cross-encoder in a folder (encoder/onnx, encoder/native: OpenCross), a server (engine/rerank: New) and a function
// (engine/rerank: Func). internal/testkit/reranktest tests an implementation.
//
// A method Name() string is optional; Stats and errors use the name.
type Reranker interface {
	// Rerank returns a finite score for each text, in order; higher is better. Scores are comparable only within one
	// call. Rerank is safe for concurrent use, does not change its arguments, and returns soon after ctx ends.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// Rerank calls r and checks its result. Errors: ErrReranker, which wraps the cause, if r fails or panics, returns a wrong
// number of scores, or a score that is not finite. When ctx ends, Rerank returns at once, with the context's error as the
// cause. Without texts r is not called.
func Rerank(ctx context.Context, r Reranker, query string, texts []string) ([]float64, error) {
	failed := func(err error) error {
		return fmt.Errorf("%w: %sreranking %d texts: %w", ErrReranker, named(r), len(texts), err)
	}
	if err := ctx.Err(); err != nil {
		return nil, failed(err)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	scores, err := yield.Leave(ctx, func() (_ []float64, err error) {
		defer fault.Recovered(&err, ErrReranker)
		return r.Rerank(ctx, query, texts)
	})
	switch {
	case err != nil:
		return nil, failed(err)
	case len(scores) != len(texts):
		return nil, failed(fmt.Errorf("it gave %d scores", len(scores)))
	}
	for i, s := range scores {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, failed(fmt.Errorf("it gave text %d the score %v, which is not finite", i, s))
		}
	}
	return scores, nil
}

// RerankerName returns the name of r: "unnamed" if it has no Name method, "" for nil.
func RerankerName(r Reranker) string {
	if r == nil {
		return ""
	}
	if n, ok := r.(interface{ Name() string }); ok {
		return cmp.Or(n.Name(), "unnamed")
	}
	return "unnamed"
}

// named is the name of a reranker for the beginning of a message.
func named(r Reranker) string {
	if n, ok := r.(interface{ Name() string }); ok && n.Name() != "" {
		return n.Name() + ": "
	}
	return ""
}

// WithReranker returns db with r as its reranker, in place of its own. The reranker runs in this process, even if
// another process has db open. depth is as Options.RerankDepth. If r is nil, it returns db. Close closes db, but not r.
func WithReranker(db Database, r Reranker, depth int) Database {
	if r == nil {
		return db
	}
	score := func(ctx context.Context, query string, texts []string) ([]float64, error) {
		return Rerank(ctx, r, query, texts)
	}
	return reranked{db, RerankerName(r), stage{depth, score}}
}

type reranked struct {
	Database
	name  string
	stage stage
}

// Search implements Database.
func (d reranked) Search(ctx context.Context, q Query) (Result, error) {
	ctx = calls.Promptly(ctx)
	first, n, err := d.stage.plan(q)
	if err != nil {
		return Result{}, err
	}
	res, err := d.Database.Search(ctx, first)
	return d.stage.finish(ctx, q, n, res, err)
}

// SearchBatch implements Database.
func (d reranked) SearchBatch(ctx context.Context, qs []Query) ([]Result, error) {
	return d.stage.many(ctx, qs, d.Database.SearchBatch)
}

// Explain implements Database.
func (d reranked) Explain(ctx context.Context, q Query, id string) (Explanation, error) {
	return d.stage.explained(ctx, q, id, d.Database.Explain, d.Database.Search)
}

// Stats implements Database.
func (d reranked) Stats(ctx context.Context) (Stats, error) {
	s, err := d.Database.Stats(ctx)
	s.Reranker = d.name
	return s, err
}

// stage is the second stage of searches; the first stage must not rerank. It runs after the first stage has
// released its state.
type stage struct {
	depth int // 0 means DefaultRerank
	// score is nil without a reranker.
	score func(ctx context.Context, query string, texts []string) ([]float64, error)
}

// secondStage is the second stage of an engine, whose Close cancels it.
func (e *Engine) secondStage() stage {
	s := stage{depth: e.o.RerankDepth}
	if e.o.Reranker != nil {
		s.score = func(ctx context.Context, query string, texts []string) (scores []float64, err error) {
			ctx, done, err := e.work(ctx)
			if err != nil {
				return nil, err
			}
			defer done(&err)
			return Rerank(ctx, e.o.Reranker, query, texts)
		}
	}
	return s
}

// plan returns the query of the first stage instead of q, and how many of its hits are reranked, 0 for none.
func (s stage) plan(q Query) (first Query, n int, err error) {
	text := len(q.Text) > search.MaxQuery || !intake.Blank(wordsOf(q, "")) // the first stage refuses longer ones
	switch {
	case q.Rerank > MaxRerank:
		return q, 0, fmt.Errorf("%w: reranking of %d hits; use 1 to %d, 0 for the default, or a negative number for none", ErrInvalid, q.Rerank, MaxRerank)
	case q.Rerank > 0 && s.score == nil:
		return q, 0, ErrNoReranker
	case q.Rerank > 0 && !text:
		return q, 0, fmt.Errorf("%w: a query without a text cannot be reranked; give it one, or leave Rerank out", ErrInvalid)
	case q.Rerank > 0 && q.Sort != "":
		return q, 0, fmt.Errorf("%w: reranking of hits that %q sorts; leave one of them out", ErrInvalid, fault.Clip(q.Sort))
	case q.Rerank >= 0 && s.score != nil && text && q.Sort == "":
		n = cmp.Or(q.Rerank, s.depth, DefaultRerank)
	}
	first = q
	first.Rerank = -1
	k := cmp.Or(q.K, search.DefaultK)
	if q.Offset >= n || k < 0 || q.Offset < 0 || k+q.Offset > MaxK { // a page after what is reranked, or none that can be
		return first, 0, nil
	}
	if alone := q.Mode == ModeLexical || q.Mode == ModeDense && q.Fusion.Tokens <= 0; q.Offset > 0 && k+q.Offset > max(n, search.PageEnd) && !alone {
		return first, 0, search.BeyondPages(q.Offset, k, max(n, search.PageEnd))
	}
	first.K, first.Offset = max(k+q.Offset, n), 0
	return first, n, nil
}

// wordsOf is the text of a query, or its repaired form, without operators.
func wordsOf(q Query, repaired string) string {
	q.Text = cmp.Or(repaired, q.Text)
	return search.Query(q).Words()
}

// finish makes the result of Search for q from that of the first stage, whose first n hits are reranked.
func (s stage) finish(ctx context.Context, q Query, n int, res Result, err error) (Result, error) {
	if err == nil && n > 0 {
		err = s.rerank(ctx, q, n, &res)
	}
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

// rerankedBesides is how many queries of a batch are reranked concurrently: they may spend most of their time
// waiting for a server.
const rerankedBesides = 8

// many is SearchBatch with reranking; batch is the SearchBatch of the first stage.
func (s stage) many(ctx context.Context, qs []Query, batch func(context.Context, []Query) ([]Result, error)) ([]Result, error) {
	ctx = calls.Promptly(ctx)
	first, ns := make([]Query, len(qs)), make([]int, len(qs))
	for i, q := range qs {
		var err error
		if first[i], ns[i], err = s.plan(q); err != nil {
			return nil, &QueryError{Position: i, Err: err}
		}
	}
	results, err := batch(ctx, first)
	if err != nil {
		return nil, err
	}
	g, within := errgroup.WithContext(ctx)
	within = calls.Promptly(within)
	g.SetLimit(rerankedBesides)
	for i, n := range ns {
		if n == 0 || within.Err() != nil {
			continue
		}
		g.Go(func() error {
			if err := s.rerank(within, qs[i], n, &results[i]); err != nil {
				return &QueryError{Position: i, Err: err}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, misplaced(ctx, err, 0)
	}
	return results, ctx.Err()
}

// rerank sorts the first n hits of the first stage by their new scores; the rest follow unchanged. Then only
// the page of q stays.
func (s stage) rerank(ctx context.Context, q Query, n int, res *Result) error {
	began := time.Now()
	n = min(n, len(res.Hits))
	if err := s.order(ctx, wordsOf(q, res.For), res.Hits[:n]); err != nil {
		return err
	}
	for i := range res.Hits {
		res.Hits[i].Rank = i + 1
	}
	from := min(q.Offset, len(res.Hits))
	res.Hits = slices.Clip(res.Hits[from:min(from+cmp.Or(q.K, search.DefaultK), len(res.Hits))])
	res.Trace.reranked(n, began)
	return nil
}

// order has the reranker score the texts of hits as users see them, and sorts the hits by these scores.
func (s stage) order(ctx context.Context, query string, hits []Hit) error {
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = chunk.Passage(h.Title, h.Text)
	}
	scores, err := s.score(ctx, query, texts)
	if err != nil {
		return err
	}
	for i, x := range scores {
		hits[i].Rerank, hits[i].Reranked = x, true
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Rerank, a.Rerank) })
	return nil
}

func (t *Trace) reranked(n int, began time.Time) {
	if n > 0 {
		t.Reranked = n
		t.Steps = append(t.Steps, Step{"rerank", time.Since(began)})
	}
}

// explained is Explain with the document's rank after reranking.
func (s stage) explained(ctx context.Context, q Query, id string, explain func(context.Context, Query, string) (Explanation, error), search func(context.Context, Query) (Result, error)) (Explanation, error) {
	ctx = calls.Promptly(ctx)
	front := q // a page decides about no place
	front.Offset = 0
	first, n, err := s.plan(front)
	if err != nil {
		return Explanation{}, err
	}
	if n > 0 {
		q = front
	}
	q.Rerank = -1
	x, err := explain(ctx, q, id)
	if err != nil || n == 0 {
		return x, err
	}
	first.K, first.PerChunk, first.Collapse = n, false, false
	res, err := search(ctx, first)
	if err != nil {
		return Explanation{}, err
	}
	began := time.Now()
	if err := s.order(ctx, wordsOf(q, res.For), res.Hits); err != nil {
		return Explanation{}, err
	}
	for i, h := range res.Hits {
		if h.ID == x.ID {
			x.Rerank, x.Reranked, x.Rank = h.Rerank, true, i+1
		}
	}
	x.Trace.reranked(len(res.Hits), began)
	return x, nil
}
