package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/span"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// remoteRun is one query over a Backend.
type remoteRun struct {
	*search.Run
	corpus *remoteCorpus
	status BackendStatus
	of     string // Trace.BridgeOf
	t      *timer
}

// Search implements Database. It asks the Backend for the candidates of both legs and
// for counts at once, then for the cosines of what the words alone have named, then for the
// hits.
func (r *Remote) Search(ctx context.Context, q Query) (_ Result, err error) {
	if q.Rerank > 0 {
		return Result{}, ErrNoReranker
	}
	ctx, done, err := r.call(ctx)
	if err != nil {
		return Result{}, err
	}
	defer done(&err)
	run, err := r.begin(ctx, q)
	if err != nil {
		return Result{}, err
	}
	found, err := run.Rank(ctx)
	if err != nil {
		return Result{}, err
	}
	hits, _, err := r.join(ctx, run, found, false)
	if err != nil {
		return Result{}, err
	}
	for i := range hits {
		hits[i].Rank = run.Q.Offset + i + 1
	}
	run.t.done("join")
	if q.Spans {
		if err := r.spans(ctx, run, q.Text, hits); err != nil {
			return Result{}, err
		}
		run.t.done("spans")
	}
	return Result{Hits: hits, Trace: r.trace(run)}, nil
}

// SearchBatch implements Database. Each query is encoded by itself.
func (r *Remote) SearchBatch(ctx context.Context, qs []Query) ([]Result, error) {
	results := make([]Result, len(qs))
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
					return &QueryError{Position: i, Err: err}
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return nil, misplaced(ctx, err, 0)
	}
	return results, ctx.Err()
}

// begin decides about a query, and makes its legs ready. What does not depend on the
// vector is asked beside the encoder.
func (r *Remote) begin(ctx context.Context, q Query) (*remoteRun, error) {
	if q.Image != nil || q.Picture {
		return nil, fmt.Errorf("%w: a query about images in an engine elsewhere, which holds none; leave them in an embedded database", ErrInvalid)
	}
	s, of, err := r.bridge.Load().of(q.Filter)
	if err != nil {
		return nil, err
	}
	sq := search.Query{
		HasText: !blankText(q.Text), HasVector: q.Vector != nil,
		K: q.K, Offset: q.Offset, MinScore: q.MinScore, Mode: q.Mode, Variant: q.Variant, Fusion: q.Fusion, Filter: q.Filter,
		PerChunk: q.PerChunk, Collapse: q.Collapse, Ef: q.Ef,
	}
	p, err := search.Decide(s, sq)
	if err == nil {
		err = q.Filter.Err()
	}
	if err != nil {
		return nil, err
	}
	run := &remoteRun{t: newTimer(), of: of, corpus: &remoteCorpus{b: r.b, f: q.Filter, ids: map[uint64]PassageID{}, seen: map[uint64]seen{}}}
	c := run.corpus
	var terms []text.Term
	if p.Lexical {
		terms = r.analyzer.Terms(nil, q.Text)
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
		if in, err = r.input(ctx, q, p.Way); err == nil {
			run.t.done("encode")
		}
	}
	if waited := g.Wait(); err == nil && waited != nil {
		err = waited
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	run.t.done("counts")
	having := make(map[string]int, len(counts))
	for i, t := range c.asked {
		having[t.Text] = counts[i]
	}
	if c.scorer, err = inverted.NewScorer(inverted.Options{}, inverted.Corpus{Documents: run.status.Passages, Length: run.status.Terms, Having: having}, terms); err != nil {
		return nil, err
	}
	run.Run, err = search.Over(ctx, s, c, run.status.Passages, sq, p, in, terms, r.rlr(), run.t.done)
	if err != nil {
		return nil, err
	}
	run.Facts.Filtered = filtered
	if filtered < 0 {
		run.Facts.Filtered = run.status.Documents
	}
	if p.Way.Any && p.Way.Stack.ReadsSums() {
		run.Facts.Stale = r.stale(s, run.status)
	}
	return run, nil
}

// input tokenizes and encodes a query.
func (r *Remote) input(ctx context.Context, q Query, w search.Way) (in modulate.Input, err error) {
	switch {
	case q.Vector != nil:
		if in.Dense, err = r.metric.Vector(q.Vector, r.info.Dim); err != nil {
			return in, err
		}
	case blankText(q.Text):
		return in, fmt.Errorf("%w: empty query; give it a text or a vector", ErrInvalid)
	case r.enc == nil:
		return in, ErrNoEncoder
	}
	if r.enc == nil || q.Text == "" {
		return in, ctx.Err()
	}
	if q.Vector != nil && w.Need() == encoder.NeedDense {
		in.Tokens = r.enc.Tokenize(encoder.Query, q.Text)
		return in, ctx.Err()
	}
	out, err := r.enc.Encode(ctx, encoder.Query, encoder.Texts(q.Text), w.Need())
	if err != nil {
		return in, fmt.Errorf("encoding the query: %w", err)
	}
	in.Tokens, in.Hidden, in.Logits = out[0].Tokens, out[0].Hidden, out[0].Logits
	if in.Dense == nil {
		in.Dense = out[0].Dense
	}
	return in, nil
}

func (r *Remote) trace(run *remoteRun) Trace {
	f, s := run.Facts, run.status
	tr := Trace{
		Mode: run.Plan.Mode, Metric: r.metric.String(), Variant: f.Variant, Seq: s.Writes, Index: r.b.Name(),
		Documents: s.Documents, Filtered: f.Filtered, Tokens: f.Tokens, Truncated: f.Truncated, Lexical: f.Lexical,
		Turned: f.Turned, Unknown: f.Unknown, Stale: f.Stale, BridgeOf: run.of, LocalWanted: run.Plan.Way.Wanted, Steps: run.t.steps,
	}
	if tr.Mode == ModeHybrid {
		tr.Fusion = run.Plan.Fusion.Kind
	}
	return tr
}

// Vector implements Database.
func (r *Remote) Vector(ctx context.Context, q Query) (_ []float32, _ Trace, err error) {
	ctx, done, err := r.call(ctx)
	if err != nil {
		return nil, Trace{}, err
	}
	defer done(&err)
	run := &remoteRun{t: newTimer()}
	s, of, err := r.bridge.Load().of(q.Filter)
	if err != nil {
		return nil, Trace{}, err
	}
	run.of = of
	w, err := search.Single(s, q.Variant)
	if err != nil {
		return nil, Trace{}, err
	}
	if run.status, err = r.status(ctx); err != nil {
		return nil, Trace{}, err
	}
	in, err := r.input(ctx, q, w)
	if err != nil {
		return nil, Trace{}, err
	}
	run.t.done("encode")
	vector, facts, err := search.Modulate(ctx, s, w, in, r.rlr())
	if err != nil {
		return nil, Trace{}, err
	}
	run.t.done("modulate")
	facts.Filtered = run.status.Documents
	if w.Any && w.Stack.ReadsSums() {
		facts.Stale = r.stale(s, run.status)
	}
	run.Run = &search.Run{Facts: facts, Plan: search.Plan{Mode: ModeDense, Way: w}}
	return vector, r.trace(run), nil
}

// join fetches what was found, and its cosines with the unmodulated query beside. What
// is not there any more is left out.
func (r *Remote) join(ctx context.Context, run *remoteRun, found []search.Found, vectors bool) ([]Hit, []*Passage, error) {
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
	var hits []Hit
	var kept []*Passage
	for i, p := range passages {
		if p == nil || plain != nil && math.IsNaN(plain[i]) { // deleted when one of the two was asked for
			continue
		}
		f := found[i]
		meta, err := metadata.Parse([]byte(p.Metadata))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: metadata of %q in %s: %v", ErrCorrupt, fault.Clip(p.ID), r.b.Name(), err)
		}
		h := Hit{ID: p.ID, Rank: len(hits) + 1, Score: float32(f.Score),
			Modulated: float32(f.Dense), BM25: float32(f.BM25), Coverage: float32(f.Coverage), Presence: float32(f.Presence), Pair: float32(f.Pair),
			Title: p.Title, Text: p.Text, Metadata: meta, Chunk: p.Chunk, Chunks: p.Chunks, Start: p.Start, End: p.Start + len(p.Text)}
		h.Lines = [2]int{p.Line, p.Line + strings.Count(p.Text[:max(0, len(p.Text)-1)], "\n")}
		if plain != nil {
			h.Cosine = float32(plain[i])
		}
		for _, ord := range f.Duplicates {
			h.Duplicates = append(h.Duplicates, run.corpus.document(ord))
		}
		hits, kept = append(hits, h), append(kept, p)
	}
	return hits, kept, nil
}

// spans gives hits their spans, by the words.
func (r *Remote) spans(ctx context.Context, run *remoteRun, query string, hits []Hit) error {
	asked := r.analyzer.Terms(nil, query)
	for i := range hits {
		h := &hits[i]
		matches := span.Words(asked, r.analyzer.Terms(nil, h.Text), run.corpus.scorer.IDF)
		if err := h.setSpan(ctx, matches); err != nil {
			return err
		}
	}
	return nil
}
