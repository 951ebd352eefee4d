package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Modes of a Query.
const (
	// ModeAuto is ModeHybrid for a query with text, and ModeDense for a query with only a vector. It is the default.
	ModeAuto = search.Auto
	// ModeDense ranks by the modulated query vector alone.
	ModeDense = search.Dense
	// ModeLexical ranks by BM25 alone. It needs no encoder, and finds only documents with a word of the query.
	ModeLexical = search.Lexical
	// ModeHybrid fuses the dense and the lexical retriever.
	ModeHybrid = search.Hybrid
)

// Names of variants that are not stacks.
const (
	// VariantNone is the plain query vector.
	VariantNone = search.None
	// VariantLocal is the local bridges. They are built if Options.Local is set or once a query names them. Until they
	// are built, such queries get "rlr" instead (Trace.LocalWanted).
	VariantLocal = search.Local
)

// Search answers one query, best hits first. It encodes the text, modulates the vector, takes candidates from the dense
// and the lexical retriever, scores every candidate by both, fuses the scores, and reads the documents.
//
// Each search sees one committed state. Searches take no lock that writes hold. When ctx ends, Search returns its error
// within milliseconds. With an exact index, dense and hybrid searches return K hits if as many documents match the
// filter. Cost with a flat int8 index: reading Dim bytes a passage; the reranker's time comes on top.
func (e *Engine) Search(ctx context.Context, q Query) (Result, error) {
	ctx = calls.Promptly(ctx)
	second := e.secondStage()
	first, n, err := second.plan(q)
	if err != nil {
		return Result{}, err
	}
	res, err := e.search(ctx, first)
	return second.finish(ctx, q, n, res, err)
}

// search is Search without a second stage.
func (e *Engine) search(ctx context.Context, q Query) (_ Result, err error) {
	s, done, err := e.read()
	if err != nil {
		return Result{}, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	t := search.NewTimer()
	if q, err = e.queryVector(ctx, s, q); err != nil {
		return Result{}, err
	}
	r, err := e.begin(ctx, s, q, t)
	if err != nil {
		return Result{}, err
	}
	return e.finish(ctx, r, t)
}

// finish runs the search of a prepared query.
func (e *Engine) finish(ctx context.Context, r *search.Run, t *search.Timer) (Result, error) {
	defer r.Release()
	found, err := r.Rank(ctx)
	if err != nil {
		return Result{}, err
	}
	return e.result(ctx, r, found, t)
}

// result makes the result of a query from what was found.
func (e *Engine) result(ctx context.Context, r *search.Run, found []search.Found, t *search.Timer) (Result, error) {
	hits, err := e.join(ctx, r, found)
	if err != nil {
		return Result{}, err
	}
	for i := range hits {
		hits[i].Rank += r.Q.Offset
	}
	t.Done("join")
	if r.Q.Spans {
		if err := e.spans(ctx, r, found, hits); err != nil {
			return Result{}, err
		}
		t.Done("spans")
	}
	if err := e.symbols(ctx, r.S, found, hits); err != nil {
		return Result{}, err
	}
	if r.Q.Places {
		err := eachHit(ctx, r.S, found, nil, func(i int, d *store.Document) (err error) {
			hits[i].Places, err = r.Places(ctx, d.Text)
			return err
		})
		if err != nil {
			return Result{}, err
		}
	}
	return Result{Hits: hits, Trace: e.trace(r, t), For: r.For()}, nil
}

// begin plans a query, encodes it, and prepares its legs.
func (e *Engine) begin(ctx context.Context, s *state.State, q Query, t *search.Timer) (*search.Run, error) {
	r, err := e.decide(ctx, s, q)
	if err != nil {
		return nil, err
	}
	if r.Plan.Dense {
		if r.In, err = e.input(ctx, r.Asked(), r.Plan.Way, r.Plan.Tokens); err != nil {
			return nil, err
		}
		t.Done("encode")
	}
	return r, e.ready(ctx, r, t)
}

func (e *Engine) decide(ctx context.Context, s *state.State, q Query) (*search.Run, error) {
	r := e.newRun(s)
	err := r.Decide(search.Query(q), e.comparesTokens(s))
	if err == nil && r.Plan.Way.Wanted {
		e.db.WantLocal()
	}
	if err == nil {
		err = e.repair(ctx, r)
	}
	if err == nil && r.Plan.Lexical && len(q.Like) == 0 {
		err = e.readFiles(ctx, r)
	}
	return r, err
}

// ready prepares the legs of a query that has its input.
func (e *Engine) ready(ctx context.Context, r *search.Run, t *search.Timer) error {
	asTyped(r)
	tokens, err := e.lateQuery(r)
	if err != nil {
		return err
	}
	return r.Begin(ctx, tokens, e.rlr(), t.Done)
}

func (e *Engine) newRun(s *state.State) *search.Run {
	return &search.Run{S: s, By: &s.Modulation, Unrelated: e.cone.unrelated(), Model: e.fp.Model, Analyse: e.analyse, AnalyseQuery: e.db.Asked}
}

// analyse gives the terms of a document.
func (e *Engine) analyse(s string) []text.Term { return e.db.Terms(nil, s) }

// trace describes how a query was answered.
func (e *Engine) trace(r *search.Run, t *search.Timer) Trace {
	tr := traceOf(r.S, r.Facts, r.Plan.Mode, r.Plan.Way, t)
	if n := r.S.Chunks(); r.Plan.Dense && r.S.Encoded() < n {
		tr.Waiting, tr.Passages = n-r.S.Encoded(), n
	}
	tr.Required, tr.Excluded, tr.Unmet = r.Operators()
	if tr.Mode == ModeHybrid {
		tr.Fusion = r.Plan.Fusion.Kind
		if r.Files != nil && tr.Fusion == fusion.Calibrated {
			tr.Kind = KindCode
		}
	}
	return tr
}

func traceOf(s *state.State, f search.Facts, mode string, w search.Way, t *search.Timer) Trace {
	return Trace{
		Mode: mode, Metric: s.Metric.String(), Variant: f.Variant, Seq: s.Seq, Index: s.Vectors.Kind,
		Documents: s.View.Len(), Filtered: f.Filtered,
		Tokens: f.Tokens, Truncated: f.Truncated, Lexical: f.Lexical,
		Cells: f.Cells, Turned: f.Turned, Unfitted: f.Unfitted, Stale: f.Stale, Unknown: f.Unknown, LocalWanted: w.Wanted,
		Steps: stepsOf(t),
	}
}

// stepsOf returns the steps that a timer has collected.
func stepsOf(t *search.Timer) []Step {
	steps := make([]Step, len(t.Steps))
	for i, s := range t.Steps {
		steps[i] = Step(s)
	}
	return steps
}

// Vector returns the modulated vector [Dim] of a query, for searching the passage vectors elsewhere. K and Ef are
// ignored. Errors: ErrInvalid for a variant with local bridges, which have a vector for each cell.
func (e *Engine) Vector(ctx context.Context, q Query) (_ []float32, _ Trace, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return nil, Trace{}, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	t := search.NewTimer()
	if q, err = e.queryVector(ctx, s, q); err != nil {
		return nil, Trace{}, err
	}
	w, err := search.Single(&s.Modulation, q.Variant)
	if err != nil {
		return nil, Trace{}, err
	}
	r := e.newRun(s)
	if r.Q, r.Clauses, err = search.Read(search.Query(q), e.db.Asked); err != nil {
		return nil, Trace{}, err
	}
	if err := e.repair(ctx, r); err != nil {
		return nil, Trace{}, err
	}
	asked := r.Asked()
	in, err := e.input(ctx, asked, w, false)
	if err != nil {
		return nil, Trace{}, err
	}
	t.Done("encode")
	vector, facts, err := search.Modulate(ctx, &s.Modulation, w, asked.Text, in, e.rlr())
	if err != nil {
		return nil, Trace{}, err
	}
	facts.Filtered = s.View.Len()
	t.Done("modulate")
	return vector, traceOf(s, facts, ModeDense, w, t), nil
}

// queryVector makes the vector of a query with examples or an image, and gives one with an image its visual words
// as text.
func (e *Engine) queryVector(ctx context.Context, s *state.State, q Query) (Query, error) {
	by, err := search.ByExamples(search.Query(q), func(id string) ([]search.Example, error) { return examples(ctx, s, id) })
	if err != nil {
		return q, err
	}
	return e.queryImage(ctx, Query(by))
}

// examples returns the chunks of a document; nil if no document has the id.
func examples(ctx context.Context, s *state.State, id string) ([]search.Example, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ord, err := find(s, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := s.View.Get(ctx, ord)
	if err != nil {
		return nil, state.Missing(err)
	}
	chunks := make([]search.Example, len(d.Rows))
	if d.Deferred() {
		return nil, fmt.Errorf("%w: document %q has no vector yet; wait until background work has made it (Flush), or search by words", ErrInvalid, fault.Clip(id))
	}
	lines := chunk.Lines{Text: d.Text}
	for i, r := range d.Rows {
		chunks[i] = search.Example{Line: lines.At(r.Start), Text: d.Text[r.Start:r.End], Vector: r.Vector}
	}
	return chunks, nil
}

// join reads the documents of what r has found from the store.
func (e *Engine) join(ctx context.Context, r *search.Run, found []search.Found) ([]Hit, error) {
	s, dense := r.S, r.In.Dense
	plain := make([]float32, len(found))
	if dense != nil {
		ids := make([]uint64, len(found))
		for i, f := range found {
			ids[i] = f.Ord
		}
		if err := cosines(ctx, s, plain, dense, ids); err != nil {
			return nil, err
		}
	}
	hits := make([]Hit, len(found))
	var lines chunk.Lines
	err := eachHit(ctx, s, found, nil, func(i int, d *store.Document) error {
		f := found[i]
		if plain[i] != plain[i] { // it has no vector yet
			plain[i] = 0
		}
		meta, err := metadataOf(d)
		if err != nil {
			return err
		}
		row, err := state.ChunkRow(d, f.Ord)
		if err != nil {
			return err
		}
		if lines.Text != d.Text {
			lines = chunk.Lines{Text: d.Text}
		}
		hits[i] = Hit(f.Hit(r, search.Passage{ID: d.ID, Title: d.Title, Media: d.Media, Text: strings.Clone(d.Text[row.Start:row.End]), Metadata: meta,
			Chunk: chunk.Number(f.Ord), Chunks: len(d.Rows), Start: row.Start, Line: lines.At(row.Start)}, plain[i]))
		hits[i].Rank = i + 1
		for _, ord := range f.Duplicates {
			if err := ctx.Err(); err != nil {
				return err
			}
			other, err := s.View.Text(ctx, ord)
			if err != nil {
				return fmt.Errorf("reading a duplicate of hit %d: %w", i+1, state.Missing(err))
			}
			hits[i].Duplicates = append(hits[i].Duplicates, other.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// input tokenizes and encodes a query, with the tensors that its modulation reads, and its token states if
// they are compared.
func (e *Engine) input(ctx context.Context, q search.Query, w search.Way, tokens bool) (modulate.Input, error) {
	in, need, err := e.given(ctx, q, w, tokens)
	if err == nil && need != 0 {
		err = e.encodeOptional(ctx, need, w.Need(), []encoder.Input{queryInput(q)}, []*modulate.Input{&in})
	}
	return in, err
}

// encodeOptional is encodeQueries with tensors that are only needed if must has them: if the encoder gives no
// token states and must does not ask for them, the queries go without.
func (e *Engine) encodeOptional(ctx context.Context, need, must encoder.Need, texts []encoder.Input, ins []*modulate.Input) error {
	err := e.encodeQueries(ctx, need, texts, ins)
	if need&^must&encoder.NeedHidden == 0 || !errors.Is(err, encoder.ErrNoHidden) {
		return err
	}
	e.noStates(err)
	return e.encodeQueries(ctx, need&^encoder.NeedHidden, texts, ins)
}

// given is the input of a query before its text is encoded, and the tensors that are still missing, 0 for
// none.
func (e *Engine) given(ctx context.Context, q search.Query, w search.Way, tokens bool) (in modulate.Input, need encoder.Need, err error) {
	in, need, err = e.space().Query(ctx, q, w)
	if need != 0 && tokens {
		need |= encoder.NeedHidden
	}
	if need != 0 {
		need |= e.impactNeed()
	}
	return in, need, err
}

// encodeQueries encodes the texts of queries in one call and fills in the outputs. An error of one text is a
// *QueryError if there are several texts.
func (e *Engine) encodeQueries(ctx context.Context, need encoder.Need, texts []encoder.Input, ins []*modulate.Input) error {
	probed := e.probed(ctx)
	out, err := e.enc.Encode(ctx, encoder.Query, texts, need)
	if same := probed(); err == nil {
		err = same
	}
	var one *encoder.TextError
	if errors.As(err, &one) && len(texts) > 1 && one.Text >= 0 && one.Text < len(texts) {
		return &QueryError{Position: one.Text, Err: fmt.Errorf("encoding the query: %w", one.Err)}
	}
	if errors.Is(err, encoder.ErrMedia) {
		return fmt.Errorf("%w: encoding the query: %w; this database holds images, and %s does not place texts beside them: give an image, or use mode %s", ErrInvalid, err, e.fp.Model, ModeLexical)
	}
	if err != nil {
		return fmt.Errorf("encoding the query: %w", err)
	}
	space := e.space()
	for i, in := range ins {
		space.Fill(in, out[i])
	}
	return nil
}

// scored is the number of hits scored between two looks at the context.
const scored = 256

// cosines sets dst to the cosines of q with the vectors of chunks.
func cosines(ctx context.Context, s *state.State, dst, q []float32, ids []uint64) error {
	for len(ids) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(scored, len(ids))
		if err := someCosines(s, dst[:n], q, ids[:n]); err != nil {
			return err
		}
		dst, ids = dst[n:], ids[n:]
	}
	return nil
}

func someCosines(s *state.State, dst, q []float32, ids []uint64) error {
	if s.Metric.Directions() {
		err := s.Vectors.Scores(dst, q, ids)
		for i, d := range dst {
			dst[i] = 1 - d
		}
		return err
	}
	for i, id := range ids {
		v := s.Vector(id)
		if v == nil {
			return fmt.Errorf("vector of chunk %d: %w", id, index.ErrCorrupt)
		}
		dst[i] = float32(metric.Cosine(q, v))
	}
	return nil
}
