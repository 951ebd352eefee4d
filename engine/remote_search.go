package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/fault"
	"github.com/lexsem/lexsem/engine/internal/metadata"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/span"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// remoteRun is one query over a Backend.
type remoteRun struct {
	*search.Run
	corpus *remoteCorpus
	status BackendStatus
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
	s := r.bridge.Load()
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
	run := &remoteRun{t: newTimer(), corpus: &remoteCorpus{b: r.b, f: q.Filter, ids: map[uint64]PassageID{}, seen: map[uint64]seen{}}}
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
		Turned: f.Turned, Unknown: f.Unknown, Stale: f.Stale, LocalWanted: run.Plan.Way.Wanted, Steps: run.t.steps,
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
	s := r.bridge.Load()
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
		if p == nil {
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

// remoteCorpus is what one query asks of a Backend; both legs ask it beside each other.
type remoteCorpus struct {
	b     Backend
	f     Filter
	asked []text.Term

	mu     sync.Mutex // guards what is below
	scorer *inverted.Scorer
	pairs  inverted.Pairs
	ids    map[uint64]PassageID
	seen   map[uint64]seen
}

// seen is what is known of a passage.
type seen struct {
	terms  string
	cosine float64
	dense  bool // cosine is known
}

var _ search.Corpus = (*remoteCorpus)(nil)

// see notes a candidate, and returns its id in this search: that of a chunk, whose
// ordinal comes of the document's id. The caller holds mu, or is alone.
func (c *remoteCorpus) see(p Candidate, dense bool) uint64 {
	ord := ordinalOf(p.ID)
	for {
		if other, ok := c.ids[chunk.ID(ord, 0)]; ok && other.ID != p.ID {
			ord = (ord + 1) & ordinals // two ids of one ordinal
			continue
		}
		break
	}
	id := chunk.ID(ord, p.Chunk)
	if p.Chunk > 0 { // the document keeps its ordinal
		c.ids[chunk.ID(ord, 0)] = PassageID{ID: p.ID}
	}
	c.ids[id] = p.PassageID
	s := c.seen[id]
	s.terms = p.Terms
	if dense {
		s.cosine, s.dense = p.Cosine, true
	}
	c.seen[id] = s
	return id
}

// document is the id of the document of an ordinal.
func (c *remoteCorpus) document(ord uint64) string { return c.ids[chunk.ID(ord, 0)].ID }

const ordinals = 1<<44 - 1

// ordinalOf is a number of an id that does not depend on anything else.
func ordinalOf(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return (h ^ h>>44) & ordinals
}

func (c *remoteCorpus) Nearest(ctx context.Context, vector []float32, k int) ([]fusion.Candidate, error) {
	named, err := c.b.Nearest(ctx, vector, k, c.f)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cs := make([]fusion.Candidate, len(named))
	for i, p := range named {
		cs[i].Ord = c.see(p, true)
		cs[i].Dense, cs[i].Score = p.Cosine, p.Cosine
	}
	fusion.Sort(cs, fusion.Dense)
	return cs, nil
}

func (c *remoteCorpus) Cosines(ctx context.Context, vector []float32, cs []fusion.Candidate) error {
	var lack []int
	var ids []PassageID
	c.mu.Lock()
	for i := range cs {
		if s := c.seen[cs[i].Ord]; s.dense {
			cs[i].Dense = s.cosine
		} else {
			lack, ids = append(lack, i), append(ids, c.ids[cs[i].Ord])
		}
	}
	c.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	cosines, err := c.b.Cosines(ctx, vector, ids)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, at := range lack {
		x := cosines[i]
		if x != x { // deleted meanwhile: it ranks last, and is not there when hits are fetched
			x = -1
		}
		cs[at].Dense = x
		s := c.seen[cs[at].Ord]
		s.cosine, s.dense = x, true
		c.seen[cs[at].Ord] = s
	}
	return nil
}

func (c *remoteCorpus) SearchMatches(ctx context.Context, _ []text.Term, k int, _ func(uint64) bool) ([]uint64, []inverted.Match, error) {
	if len(c.asked) == 0 {
		return nil, nil, ctx.Err()
	}
	terms := make([]WeightedTerm, len(c.asked))
	for i, t := range c.asked {
		terms[i] = WeightedTerm{t.Text, float64(t.Weight)}
	}
	// Some more than k: engines keep lengths coarsely, so that their order is near that of
	// the true scores, which are computed here.
	named, err := c.b.Matching(ctx, terms, k+k/8+20, c.f)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	best := make([]fusion.Candidate, len(named))
	for i, p := range named {
		best[i].Ord = c.see(p, false)
		best[i].Match = c.scorer.Match(p.Terms)
		best[i].Score = best[i].BM25
	}
	fusion.Sort(best, fusion.Lexical)
	best = best[:min(k, len(best))]
	ids, matches := make([]uint64, len(best)), make([]inverted.Match, len(best))
	for i, b := range best {
		ids[i], matches[i] = b.Ord, b.Match
	}
	return ids, matches, nil
}

func (c *remoteCorpus) Match(ctx context.Context, dst []inverted.Match, _ []text.Term, ids []uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, id := range ids {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		dst[i] = c.scorer.Match(c.seen[id].terms)
	}
	return nil
}

func (c *remoteCorpus) PairNumbers(dst []uint64, id uint64) ([]uint64, error) {
	return c.pairs.Numbers(dst, c.seen[id].terms), nil
}

// stale is how many passages were written or deleted since the bridge was made.
func (r *Remote) stale(s *state.State, now BackendStatus) int {
	if s.Sums == nil || now.Writes < s.Seq {
		return 0
	}
	return int(now.Writes - s.Seq)
}
