package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
)

// Numbers of hits that a reranker reads.
const (
	DefaultRerank = 50   // where neither Options.RerankDepth nor Query.Rerank says otherwise
	MaxRerank     = 1000 // at most
)

// Reranker is a second stage: it reads a query and a text together, and says how well
// the text answers it. Such are a cross-encoder in a folder (encoder/onnx, encoder/native:
// OpenCross), a server (engine/rerank: New) and a function (engine/rerank: Func).
// engine/rerank/reranktest tests whether one keeps what is promised here.
//
// It may have a method Name() string, by which Stats and errors call it.
type Reranker interface {
	// Rerank returns a score for each text, in their order; higher is better. Scores are
	// finite, and need be comparable within one call alone. It is safe for concurrent use,
	// changes none of its arguments, and ends soon after ctx.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// Rerank asks r for the scores of texts, and holds it to its contract: what it fails
// with, another number of scores than texts, and one that is not finite are an
// ErrReranker, which wraps the cause. Once ctx is done it returns its error as the
// cause, and waits for r no longer. r is not asked about no texts.
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
	type answer struct {
		scores []float64
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		scores, err := r.Rerank(ctx, query, texts)
		answers <- answer{scores, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	switch {
	case a.err != nil:
		return nil, failed(a.err)
	case len(a.scores) != len(texts):
		return nil, failed(fmt.Errorf("it gave %d scores", len(a.scores)))
	}
	for i, s := range a.scores {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, failed(fmt.Errorf("it gave text %d the score %v, which is not finite", i, s))
		}
	}
	return a.scores, nil
}

// rerankerName is how a reranker is called, "" for none.
func rerankerName(r Reranker) string {
	if r == nil {
		return ""
	}
	if n, ok := r.(interface{ Name() string }); ok {
		return cmp.Or(n.Name(), "unnamed")
	}
	return "unnamed"
}

// named is the name of a reranker as it stands before other words.
func named(r Reranker) string {
	if n, ok := r.(interface{ Name() string }); ok && n.Name() != "" {
		return n.Name() + ": "
	}
	return ""
}

// rerankDepth is how many hits of a query the reranker reads, 0 for none.
func (e *Engine) rerankDepth(q Query) (int, error) {
	text := !blankText(q.Text)
	switch {
	case q.Rerank > MaxRerank:
		return 0, fmt.Errorf("%w: reranking of %d hits; use 1 to %d, 0 for the default, or a negative number for none", ErrInvalid, q.Rerank, MaxRerank)
	case q.Rerank > 0 && e.o.Reranker == nil:
		return 0, ErrNoReranker
	case q.Rerank > 0 && !text:
		return 0, fmt.Errorf("%w: a query without a text cannot be reranked; give it one, or leave Rerank out", ErrInvalid)
	case q.Rerank < 0 || e.o.Reranker == nil || !text:
		return 0, nil
	}
	return cmp.Or(q.Rerank, e.o.RerankDepth, DefaultRerank), nil
}

// rerank is the second stage of a search, if it has one: the reranker reads the first
// hits, which then stand in the order of its scores; the rest follow as they are. Of all
// the page stays that was asked for. The state of the search is not needed, and Close
// does not wait for it.
func (e *Engine) rerank(ctx context.Context, r *search.Run, res *Result, t *timer) error {
	n := min(r.Q.Rerank, len(res.Hits))
	if n == 0 || !r.Staged() {
		return nil
	}
	if err := e.score(ctx, r, res.Hits[:n]); err != nil {
		return err
	}
	slices.SortStableFunc(res.Hits[:n], func(a, b Hit) int { return cmp.Compare(b.Rerank, a.Rerank) })
	for i := range res.Hits {
		res.Hits[i].Rank = i + 1
	}
	from := min(r.Q.Offset, len(res.Hits))
	res.Hits = slices.Clip(res.Hits[from:min(from+cmp.Or(r.Q.K, search.DefaultK), len(res.Hits))])
	t.done("rerank")
	res.Trace.Reranked, res.Trace.Steps = n, t.steps
	return nil
}

// score has the reranker read hits, and gives them its scores.
func (e *Engine) score(ctx context.Context, r *search.Run, hits []Hit) (err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = chunk.Passage(h.Title, h.Text)
	}
	scores, err := Rerank(ctx, e.o.Reranker, r.Text, texts)
	if err != nil {
		return err
	}
	for i, s := range scores {
		hits[i].Rerank, hits[i].Reranked = s, true
	}
	return nil
}
