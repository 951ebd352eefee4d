package engine

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/text"
)

// Explain implements Database.
func (r *Remote) Explain(ctx context.Context, q Query, id string) (_ Explanation, err error) {
	if q.Rerank > 0 {
		return Explanation{}, ErrNoReranker
	}
	ctx, done, err := r.call(ctx)
	if err != nil {
		return Explanation{}, err
	}
	defer done(&err)
	run, err := r.begin(ctx, q)
	if err != nil {
		return Explanation{}, err
	}
	docs, err := r.b.Documents(ctx, []string{id})
	if err != nil {
		return Explanation{}, err
	}
	if len(docs[0]) == 0 {
		return Explanation{}, fmt.Errorf("document %q: %w", fault.Clip(id), ErrNotFound)
	}
	meta, err := metadata.Parse([]byte(docs[0][0].Metadata))
	if err != nil {
		return Explanation{}, fmt.Errorf("%w: metadata of %q in %s: %v", ErrCorrupt, fault.Clip(id), r.b.Name(), err)
	}
	if met, err := q.Filter.Match(meta); err != nil {
		return Explanation{}, err
	} else if !met {
		return Explanation{}, fmt.Errorf("document %q does not meet the filter: %w", fault.Clip(id), ErrNotFound)
	}
	var ord uint64
	for _, p := range docs[0] {
		ord = chunk.Ord(run.corpus.see(Candidate{PassageID: p.PassageID, Terms: p.Terms}, false))
	}
	best, rank, err := run.Place(ctx, ord, len(docs[0]))
	if err != nil {
		return Explanation{}, err
	}
	hits, passages, err := r.join(ctx, run, []search.Found{{Candidate: best}}, true)
	if err != nil {
		return Explanation{}, err
	}
	if len(hits) == 0 {
		return Explanation{}, fmt.Errorf("document %q was deleted meanwhile: %w", fault.Clip(id), ErrNotFound)
	}
	if q.Spans {
		if err := r.spans(ctx, run, q.Text, hits); err != nil {
			return Explanation{}, err
		}
	}
	p := passages[0]
	x := Explanation{Hit: hits[0], Trace: r.trace(run)}
	x.Rank = rank
	x.Terms = run.Plan.Terms(best)
	if run.Plan.Dense {
		if err := explainDense(&x, r.enc, run.Run, q.Text, best, p.Vector); err != nil {
			return Explanation{}, err
		}
	}
	if run.Plan.Lexical {
		s := run.corpus.scorer
		w := wordFacts{s.Explain(nil, p.Terms), s.UB(), s.IDF}
		explainWords(&x, r.analyzer.Terms(nil, q.Text), w, p.Title, p.Text, p.Start, func(s string) []text.Term { return r.analyzer.Terms(nil, s) })
	}
	return x, nil
}
