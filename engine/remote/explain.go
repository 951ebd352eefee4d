package remote

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
)

// Explain implements engine.Database.
func (r *Database) Explain(ctx context.Context, q engine.Query, id string) (_ engine.Explanation, err error) {
	if q.Rerank > 0 {
		return engine.Explanation{}, engine.ErrNoReranker
	}
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return engine.Explanation{}, err
	}
	defer done(&err)
	if err := intake.CheckID(id); err != nil {
		return engine.Explanation{}, err
	}
	run, err := r.begin(ctx, q)
	if err != nil {
		return engine.Explanation{}, err
	}
	docs, err := r.b.Documents(ctx, []string{id})
	if err != nil {
		return engine.Explanation{}, err
	}
	if len(docs[0]) == 0 {
		return engine.Explanation{}, fmt.Errorf("document %q: %w", fault.Clip(id), engine.ErrNotFound)
	}
	meta, err := metadata.Parse([]byte(docs[0][0].Metadata))
	if err != nil {
		return engine.Explanation{}, fmt.Errorf("%w: metadata of %q in %s: %v", engine.ErrCorrupt, fault.Clip(id), r.b.Name(), err)
	}
	if met, err := run.Q.Filter.MatchDocument(id, meta); err != nil {
		return engine.Explanation{}, err
	} else if !met {
		return engine.Explanation{}, fmt.Errorf("document %q does not meet the filter: %w", fault.Clip(id), engine.ErrNotFound)
	}
	var ord uint64
	for _, p := range docs[0] {
		ord = chunk.Ord(run.corpus.see(Candidate{PassageID: p.PassageID, Terms: p.Terms}, false))
	}
	if !slices.ContainsFunc(docs[0], func(p Passage) bool { return run.corpus.meets(run.Clauses, p.Terms, p.Title) }) {
		return engine.Explanation{}, fmt.Errorf("document %q does not meet the operators of the query: %w", fault.Clip(id), engine.ErrNotFound)
	}
	placed, rank, err := run.Place(ctx, ord, len(docs[0]))
	if err != nil {
		return engine.Explanation{}, err
	}
	hits, passages, err := r.join(ctx, run, []search.Found{placed}, true)
	if err != nil {
		return engine.Explanation{}, err
	}
	if len(hits) == 0 {
		return engine.Explanation{}, fmt.Errorf("document %q was deleted meanwhile: %w", fault.Clip(id), engine.ErrNotFound)
	}
	if q.Spans {
		if err := r.spans(ctx, run, run.Q.Text, hits); err != nil {
			return engine.Explanation{}, err
		}
	}
	if err := symbols(ctx, hits); err != nil {
		return engine.Explanation{}, err
	}
	p, best := passages[0], placed.Candidate
	x := engine.Explanation{Hit: hits[0], Trace: r.trace(run)}
	x.Rank = rank
	x.Terms = run.Summands(best)
	if run.Plan.Dense {
		shares, err := run.Shares(best, p.Vector, func(id int32) string { return intake.Token(r.enc, id) })
		if err != nil {
			return engine.Explanation{}, err
		}
		x.Plain, x.Bias, x.Attributed, x.Tokens, x.Dimensions = shares.Plain, shares.Bias, shares.Attributed, shares.Tokens, shares.Dimensions
	}
	if run.Plan.Lexical {
		s := run.corpus.scorer
		l := search.Lexicon{Scores: s.Explain(nil, p.Terms), UB: s.UB(), IDF: s.IDF, Analyse: r.analyse}
		x.Words, x.Pairs, x.Matches = l.Words(r.asked(run.Q.Text), p.Title, p.Text, p.Start)
	}
	return x, nil
}
