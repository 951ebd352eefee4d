package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/span"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// query is a query over a Backend.
type query struct {
	*search.Run
	corpus  *corpus
	status  Status
	bridges *bridges
	of      string // Trace.BridgeOf
	t       *search.Timer
}

// Search implements engine.Database. It requests candidates and counts at once, then the cosines of candidates that
// only words found, and then the hits.
func (r *Database) Search(ctx context.Context, q engine.Query) (_ engine.Result, err error) {
	if q.Rerank > 0 {
		return engine.Result{}, engine.ErrNoReranker
	}
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return engine.Result{}, err
	}
	defer done(&err)
	run, err := r.begin(ctx, q)
	if err != nil {
		return engine.Result{}, err
	}
	found, err := run.Rank(ctx)
	if err != nil {
		return engine.Result{}, err
	}
	hits, _, err := r.join(ctx, run, found, false)
	if err != nil {
		return engine.Result{}, err
	}
	for i := range hits {
		hits[i].Rank = run.Q.Offset + i + 1
	}
	run.t.Done("join")
	if q.Spans {
		if err := r.spans(ctx, run, run.Q.Text, hits); err != nil {
			return engine.Result{}, err
		}
		run.t.Done("spans")
	}
	if err := symbols(ctx, hits); err != nil {
		return engine.Result{}, err
	}
	return engine.Result{Hits: hits, Trace: r.trace(run)}, nil
}

// SearchBatch implements engine.Database. It encodes each query separately.
func (r *Database) SearchBatch(ctx context.Context, qs []engine.Query) ([]engine.Result, error) {
	results := make([]engine.Result, len(qs))
	var next atomic.Int64
	g, within := errgroup.WithContext(ctx)
	for range min(2*runtime.GOMAXPROCS(0), len(qs)) { // they wait for the Backend most of the time
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(qs) {
					return nil
				}
				var err error
				if results[i], err = r.Search(within, qs[i]); err != nil {
					return &engine.QueryError{Position: i, Err: err}
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
			err = ended
		}
		return nil, err
	}
	return results, ctx.Err()
}

// begin plans a query, and prepares its retrievers. Requests that do not depend on the vector run while the
// text is encoded.
func (r *Database) begin(ctx context.Context, q engine.Query) (*query, error) {
	if q.Image != nil || q.Picture {
		return nil, fmt.Errorf("%w: a query about images in an engine elsewhere, which holds none; leave them in an embedded database", engine.ErrInvalid)
	}
	bridges := r.bridge.Load()
	by, of, err := bridges.of(q.Filter)
	if err != nil {
		return nil, err
	}
	if q, err = r.byExamples(ctx, q); err != nil {
		return nil, err
	}
	run := &query{t: search.NewTimer(), bridges: bridges, of: of, corpus: &corpus{b: r.b, f: q.Filter, analyse: r.analyse, ids: map[uint64]PassageID{}, seen: map[uint64]seen{}, meta: map[uint64]map[string]any{}}}
	run.Run = &search.Run{By: by, Unrelated: r.info.Encoder.Unrelated, Model: r.info.Encoder.Model, Analyse: r.analyse, AnalyseQuery: r.asked}
	err = run.Decide(search.Query(q), false)
	p := run.Plan
	switch {
	case err == nil && p.Listed:
		err = fmt.Errorf("%w: query %q only excludes, which needs another word in an engine elsewhere", engine.ErrInvalid, fault.Clip(q.Text))
	case err == nil:
		err = q.Filter.Err()
	}
	if err != nil {
		return nil, err
	}
	c := run.corpus
	var terms []text.Term
	if p.Lexical {
		terms = r.asked(run.Q.Text)
		run.Terms = terms
		c.asked = inverted.Asked(terms)
	}
	filtered := -1
	g, beside := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		run.status, err = r.status(beside)
		return err
	})
	counts := make([]int, len(c.asked))
	if len(c.asked) > 0 {
		g.Go(func() error {
			words := make([]string, len(c.asked))
			for i, t := range c.asked {
				words[i] = t.Text
			}
			n, err := r.b.Having(beside, words)
			copy(counts, n)
			return err
		})
	}
	if !q.Filter.IsZero() {
		g.Go(func() (err error) {
			filtered, err = r.b.Count(beside, q.Filter)
			return err
		})
	}
	var in modulate.Input
	if p.Dense {
		if in, err = r.input(ctx, run.Q, p.Way); err == nil {
			run.t.Done("encode")
		}
	}
	if waited := g.Wait(); err == nil && waited != nil {
		err = waited
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	run.t.Done("counts")
	having := make(map[string]int, len(counts))
	for i, t := range c.asked {
		having[t.Text] = counts[i]
	}
	if c.scorer, err = inverted.NewScorer(inverted.Options{}, inverted.Corpus{Documents: run.status.Passages, Length: run.status.Terms, Having: having}, terms); err != nil {
		return nil, err
	}
	c.parts = run.status.Passages > run.status.Documents
	run.In = in
	if err := run.Over(ctx, c, run.status.Passages, r.rlr(), run.t.Done); err != nil {
		return nil, err
	}
	run.Facts.Filtered = filtered
	if filtered < 0 {
		run.Facts.Filtered = run.status.Documents
	}
	if p.Way.Any && p.Way.Stack.ReadsSums() {
		run.Facts.Stale = bridges.stale(run.status)
	}
	return run, nil
}

// byExamples replaces the examples of a query by a vector.
func (r *Database) byExamples(ctx context.Context, q engine.Query) (engine.Query, error) {
	by, err := search.ByExamples(search.Query(q), func(id string) ([]search.Example, error) {
		docs, err := r.b.Documents(ctx, []string{id})
		if err != nil {
			return nil, err
		}
		chunks := make([]search.Example, len(docs[0]))
		for i, p := range docs[0] {
			chunks[i] = search.Example{Line: p.Line, Text: p.Text, Vector: p.Vector}
		}
		return chunks, nil
	})
	return engine.Query(by), err
}

// input tokenizes and encodes a query.
func (r *Database) input(ctx context.Context, q search.Query, w search.Way) (in modulate.Input, err error) {
	in, need, err := r.space().Query(ctx, q, w)
	if err != nil || need == 0 {
		return in, err
	}
	out, err := r.enc.Encode(ctx, encoder.Query, encoder.Texts(q.Text), need)
	if err != nil {
		return in, fmt.Errorf("encoding the query: %w", err)
	}
	r.space().Fill(&in, out[0])
	return in, nil
}

// analyse returns the terms of a document, and asked those of a query.
func (r *Database) analyse(s string) []text.Term { return r.analyzer.Terms(nil, s) }
func (r *Database) asked(s string) []text.Term   { return r.analyzer.Asked(nil, s) }

func (r *Database) trace(run *query) engine.Trace {
	f, s := run.Facts, run.status
	tr := engine.Trace{
		Mode: run.Plan.Mode, Metric: r.metric.String(), Variant: f.Variant, Seq: s.Writes, Index: r.b.Name(),
		Documents: s.Documents, Filtered: f.Filtered, Tokens: f.Tokens, Truncated: f.Truncated, Lexical: f.Lexical,
		Turned: f.Turned, Unknown: f.Unknown, Stale: f.Stale, BridgeOf: run.of, LocalWanted: run.Plan.Way.Wanted, Steps: make([]engine.Step, len(run.t.Steps)),
	}
	tr.Required, tr.Excluded, tr.Unmet = run.Operators()
	for i, s := range run.t.Steps {
		tr.Steps[i] = engine.Step(s)
	}
	if tr.Mode == engine.ModeHybrid {
		tr.Fusion = run.Plan.Fusion.Kind
	}
	return tr
}

// Vector implements engine.Database.
func (r *Database) Vector(ctx context.Context, q engine.Query) (_ []float32, _ engine.Trace, err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return nil, engine.Trace{}, err
	}
	defer done(&err)
	run := &query{t: search.NewTimer(), bridges: r.bridge.Load()}
	by, of, err := run.bridges.of(q.Filter)
	if err != nil {
		return nil, engine.Trace{}, err
	}
	run.of = of
	w, err := search.Single(by, q.Variant)
	if err != nil {
		return nil, engine.Trace{}, err
	}
	if run.status, err = r.status(ctx); err != nil {
		return nil, engine.Trace{}, err
	}
	if q, err = r.byExamples(ctx, q); err != nil {
		return nil, engine.Trace{}, err
	}
	asked, _, err := search.Read(search.Query(q), r.asked)
	if err != nil {
		return nil, engine.Trace{}, err
	}
	in, err := r.input(ctx, asked, w)
	if err != nil {
		return nil, engine.Trace{}, err
	}
	run.t.Done("encode")
	vector, facts, err := search.Modulate(ctx, by, w, asked.Text, in, r.rlr())
	if err != nil {
		return nil, engine.Trace{}, err
	}
	run.t.Done("modulate")
	facts.Filtered = run.status.Documents
	if w.Any && w.Stack.ReadsSums() {
		facts.Stale = run.bridges.stale(run.status)
	}
	run.Run = &search.Run{Facts: facts, Plan: search.Plan{Mode: engine.ModeDense, Way: w}}
	return vector, r.trace(run), nil
}

// join fetches the found documents and, at the same time, their cosines with the unmodulated query. Documents
// that no longer exist are left out.
func (r *Database) join(ctx context.Context, run *query, found []search.Found, vectors bool) ([]engine.Hit, []*Passage, error) {
	if len(found) == 0 {
		return nil, nil, nil
	}
	ids := make([]PassageID, len(found))
	for i, f := range found {
		ids[i] = run.corpus.ids[f.Ord]
	}
	var passages []*Passage
	var plain []float64
	g, beside := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		passages, err = r.b.Fetch(beside, ids, vectors)
		return err
	})
	switch {
	case !run.Plan.Dense:
	case !run.Plan.Way.Any:
		plain = make([]float64, len(found))
		for i, f := range found {
			plain[i] = f.Dense
		}
	default:
		g.Go(func() (err error) {
			plain, err = r.b.Cosines(beside, run.In.Dense, ids)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	var hits []engine.Hit
	var kept []*Passage
	for i, p := range passages {
		if p == nil || plain != nil && math.IsNaN(plain[i]) { // deleted when one of the two was asked for
			continue
		}
		f := found[i]
		meta, err := metadata.Parse([]byte(p.Metadata))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: metadata of %q in %s: %v", engine.ErrCorrupt, fault.Clip(p.ID), r.b.Name(), err)
		}
		var cosine float32
		if plain != nil {
			cosine = float32(plain[i])
		}
		h := engine.Hit(f.Hit(run.Run, search.Passage{ID: p.ID, Title: p.Title, Text: p.Text, Metadata: meta, Chunk: p.Chunk, Chunks: p.Chunks, Start: p.Start, Line: p.Line}, cosine))
		h.Rank = len(hits) + 1
		for _, ord := range f.Duplicates {
			h.Duplicates = append(h.Duplicates, run.corpus.document(ord))
		}
		hits, kept = append(hits, h), append(kept, p)
	}
	return hits, kept, nil
}

// spans gives hits their spans, from the words.
func (r *Database) spans(ctx context.Context, run *query, query string, hits []engine.Hit) error {
	asked := r.asked(query)
	for i := range hits {
		h := &hits[i]
		matches := span.Words(asked, r.analyse(h.Text), run.corpus.scorer.IDF)
		var err error
		if h.Span, h.SpanLines, err = span.Place(ctx, h.Text, h.Start, h.Lines[0], matches); err != nil {
			return err
		}
	}
	return nil
}

// symbols gives hits of source code the names of their functions or types, if the text of the passage shows
// them.
func symbols(ctx context.Context, hits []engine.Hit) (err error) {
	for i := range hits {
		h := &hits[i]
		if !search.OfSource(h.Metadata) {
			continue
		}
		in := h.Span
		if in[1] > 0 {
			in[0], in[1] = in[0]-h.Start, in[1]-h.Start
		}
		if h.Symbol, err = search.Symbol(ctx, h.Text, 0, len(h.Text), in); err != nil {
			return err
		}
	}
	return nil
}
