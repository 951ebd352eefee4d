package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/fault"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// VariantNone names the plain dense vector.
const VariantNone = "none"

// Search answers one query. Its steps: tokenize and encode the text, modulate
// the vector, let the dense and the lexical leg each name candidates, give
// every candidate the scores of both legs, fuse, and join the documents from
// the store. It returns min(K, documents that meet the filter) hits in modes
// dense and hybrid with an exact index, best first. Cost with a flat index: 4·Dim bytes read a
// document. Searches run beside each other and beside writes; each sees one
// committed state.
func (e *Engine) Search(ctx context.Context, q Query) (Result, error) {
	done, err := e.use()
	if err != nil {
		return Result{}, err
	}
	defer done()
	s, err := e.prepare(ctx, q)
	if err != nil {
		return Result{}, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := s.begin(ctx); err != nil {
		return Result{}, err
	}
	cs, err := s.rank()
	if err != nil {
		return Result{}, err
	}
	hits, err := e.join(cs, s.in.Dense)
	if err != nil {
		return Result{}, err
	}
	s.timer.done("join")
	s.trace.Steps = s.timer.steps
	return Result{Hits: hits, Trace: s.trace}, nil
}

// search is one query on its way.
type search struct {
	e     *Engine
	q     Query
	plan  plan
	timer *timer
	way   way            // of the dense leg
	in    modulate.Input // likewise
	terms []text.Term    // of the lexical leg
	dense denseLeg       // nil where the plan has none
	allow func(id uint64) bool
	trace Trace
}

// prepare checks a query and does what needs no lock: it encodes it.
func (e *Engine) prepare(ctx context.Context, q Query) (*search, error) {
	p, err := e.plan(q)
	if err != nil {
		return nil, err
	}
	s := &search{e: e, q: q, plan: p, timer: newTimer()}
	if p.dense {
		if s.way, err = e.resolve(q, p.lexical); err != nil {
			return nil, err
		}
		if s.in, err = e.input(ctx, q, s.way); err != nil {
			return nil, err
		}
		s.timer.done("encode")
	}
	if p.lexical {
		s.terms = e.words.analyzer.Terms(nil, q.Text)
	}
	return s, nil
}

// resolve is the way of a query, resolved once: what it wants of the encoder is
// then what modulates it, whatever a fit chooses meanwhile. One that names no
// variant gets RLR in place of local bridges where its vector stands beside the
// words: what these remember of the passages' words the other leg knows exactly,
// and questions pay for it (docs/METHOD.md).
func (e *Engine) resolve(q Query, beside bool) (way, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if q.Variant == "" && beside && e.best(false) == VariantLocal {
		q.Variant = modulate.RLR.Name
	}
	return e.way(q.Variant, false)
}

// begin makes the legs ready on the present state. The caller holds mu, from
// here to the end of the search.
func (s *search) begin(ctx context.Context) (err error) {
	e := s.e
	if e.behind != nil {
		return e.behind
	}
	s.trace = Trace{Variant: VariantNone, Seq: e.seq, Index: e.vectors.name}
	var filtered int
	if s.allow, filtered, err = e.allowed(ctx, s.q.Filter); err != nil {
		return err
	}
	if s.plan.dense {
		if s.dense, s.trace, err = e.denseLeg(s.way, s.in, filtered); err != nil {
			return err
		}
		s.timer.done("modulate")
	}
	s.trace.Mode = s.plan.mode
	s.trace.Documents, s.trace.Filtered = e.view.Len(), filtered
	return nil
}

// denseLeg modulates a query. found is the number of documents that meet its
// filter. The caller holds mu.
func (e *Engine) denseLeg(w way, in modulate.Input, found int) (denseLeg, Trace, error) {
	vector, trace, err := e.modulate(w, in)
	if err != nil || !w.local || e.local.Len() == 0 || found == 0 { // no cell has an answer
		return oneVector{e.vectors.Keeper, vector, e.mask}, trace, err
	}
	plain := in.Dense
	in.Dense = vector
	// The cells hold chunks. How many of them meet the filter is not known: about
	// as many for each document as there are of all.
	chunks, most := found, found
	if all := e.view.Len(); all > 0 && all < e.vectors.Len() {
		chunks, most = found*e.vectors.Len()/all, e.vectors.Len()
	}
	leg, err := newLocalLeg(e.local, in, plain, chunks, most)
	if err != nil {
		return nil, Trace{}, err
	}
	trace.Turned, trace.Cells = leg.turned(), len(leg.cells)
	return leg, trace, nil
}

// Vector returns the vector [Dim] that Search would look for if there were no
// local bridges: that of the query's text, modulated by its variant. A variant
// with local bridges, which have a vector for each cell, is ErrInvalid. K and Ef
// are not read. It serves whoever searches the passage vectors elsewhere.
func (e *Engine) Vector(ctx context.Context, q Query) ([]float32, Trace, error) {
	done, err := e.use()
	if err != nil {
		return nil, Trace{}, err
	}
	defer done()
	t := newTimer()
	e.mu.RLock()
	w, err := e.way(q.Variant, true)
	e.mu.RUnlock()
	if err != nil {
		return nil, Trace{}, err
	}
	in, err := e.input(ctx, q, w)
	if err != nil {
		return nil, Trace{}, err
	}
	t.done("encode")
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.behind != nil {
		return nil, Trace{}, e.behind
	}
	vector, trace, err := e.modulate(w, in)
	if err != nil {
		return nil, Trace{}, err
	}
	t.done("modulate")
	trace.Steps = t.steps
	return vector, trace, nil
}

// modulate turns the dense vector of in by the stack of w. The caller holds mu.
func (e *Engine) modulate(w way, in modulate.Input) ([]float32, Trace, error) {
	vector, t := in.Dense, Trace{Variant: w.name, Seq: e.seq, Index: e.vectors.name}
	if w.any {
		mod := w.with
		if mod == nil {
			var err error
			if mod, t.Unfitted, err = e.modulator(w.stack); err != nil {
				return nil, Trace{}, err
			}
		}
		vector = mod.Modulate(make([]float32, 0, len(in.Dense)), in)
	}
	t.Tokens, t.Truncated = len(in.Tokens.IDs), in.Tokens.Truncated
	t.Lexical = len(in.Tokens.Lexical(nil))
	t.Turned = vec.Dot(in.Dense, vector)
	return vector, t, nil
}

// input tokenizes and encodes a query, with the tensors that its way reads.
func (e *Engine) input(ctx context.Context, q Query, w way) (in modulate.Input, err error) {
	if q.Vector != nil {
		if in.Dense, err = normalised(q.Vector, e.fp.Dim); err != nil {
			return in, err
		}
	} else if strings.TrimSpace(q.Text) == "" {
		return in, fmt.Errorf("%w: empty query; give it a text or a vector", ErrInvalid)
	} else if e.enc == nil {
		return in, ErrNoEncoder
	}
	if e.enc == nil || q.Text == "" {
		return in, nil
	}
	need := w.need()
	if q.Vector != nil && need == encoder.NeedDense {
		in.Tokens = e.enc.Tokenize(encoder.Query, q.Text)
		return in, nil
	}
	out, err := e.enc.Encode(ctx, encoder.Query, []string{q.Text}, need)
	if err != nil {
		return in, fmt.Errorf("encoding the query: %w", err)
	}
	in.Tokens, in.Hidden, in.Logits = out[0].Tokens, out[0].Hidden, out[0].Logits
	if q.Vector == nil {
		in.Dense = out[0].Dense
	}
	return in, nil
}

// join reads the documents of cs from the store. dense is the unmodulated
// query vector, nil where there is none.
func (e *Engine) join(cs []found, dense []float32) ([]Hit, error) {
	plain := make([]float32, len(cs))
	if dense != nil {
		ords := make([]uint64, len(cs))
		for i, c := range cs {
			ords[i] = c.Ord
		}
		if err := e.vectors.Scores(plain, dense, ords); err != nil {
			return nil, err
		}
	}
	hits := make([]Hit, len(cs))
	for i, c := range cs {
		d, err := e.view.Text(chunk.Ord(c.Ord))
		if err != nil {
			return nil, fmt.Errorf("reading hit %d: %w", i+1, err)
		}
		meta, err := metadataOf(d)
		if err != nil {
			return nil, err
		}
		row, err := chunkRow(d, c.Ord)
		if err != nil {
			return nil, err
		}
		hits[i] = Hit{ID: d.ID, Rank: i + 1, Score: float32(c.Score),
			Modulated: float32(c.Dense), BM25: float32(c.BM25), Coverage: float32(c.Coverage), Presence: float32(c.Presence), Pair: float32(c.Pair),
			Title: d.Title, Text: d.Text[row.Start:row.End], Metadata: meta,
			Chunk: chunk.Number(c.Ord), Chunks: len(d.Rows), Start: row.Start, End: row.End}
		for _, ord := range c.duplicates {
			other, err := e.view.Text(ord)
			if err != nil {
				return nil, fmt.Errorf("reading a duplicate of hit %d: %w", i+1, err)
			}
			hits[i].Duplicates = append(hits[i].Duplicates, other.ID)
		}
		if dense != nil {
			hits[i].Cosine = 1 - plain[i]
		}
	}
	return hits, nil
}

// Get returns the stored document with this id, its vector included, or
// ErrNotFound.
func (e *Engine) Get(ctx context.Context, id string) (Document, error) {
	done, err := e.use()
	if err != nil {
		return Document{}, err
	}
	defer done()
	e.mu.RLock()
	defer e.mu.RUnlock()
	ord, err := e.find(id)
	if err != nil {
		return Document{}, err
	}
	d, err := e.view.Get(ord)
	if err != nil {
		return Document{}, err
	}
	meta, err := metadataOf(d)
	if err != nil {
		return Document{}, err
	}
	doc := Document{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: meta}
	if len(d.Rows) == 1 {
		doc.Vector = d.Rows[0].Vector
	}
	return doc, nil
}

// find returns the version of a stored document. The caller holds mu.
func (e *Engine) find(id string) (uint64, error) {
	ord, ok, err := e.view.Lookup(id)
	if err == nil && !ok {
		err = fmt.Errorf("document %q: %w", fault.Clip(id), ErrNotFound)
	}
	return ord, err
}
