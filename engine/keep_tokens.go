package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/store"
)

// TokenReport reports the result of KeepTokenStates.
type TokenReport struct {
	Documents int // documents that got token states in this call
	Chunks    int // chunks of those documents
	Already   int // documents that already had token states
	Left      int // documents without token states: no text, no vectors, or a database with too few tokens
}

// KeepTokenStates adds token states to all stored documents that lack them. New documents then get them too, as under
// TokenStatesAuto, also in a database of source code. The states are kept however much memory they take.
//
// Texts are encoded again; vectors, tokens and metadata do not change. Some hundred documents are one commit, and each
// counts as a new version. Searches and writes continue; a document changed meanwhile is skipped. After an error or a
// kill the same call continues where it stopped. Vectors that documents stored words first still lack are made before, with
// their token states. If that fails, all other documents get theirs before the error is returned.
//
// Errors: ErrInvalid if Options.TokenStates is TokenStatesOff or the encoder gives no token states; ErrNoEncoder;
// ErrReadOnly; ErrNoSpace; those of the encoder and of ctx. Cost: encoding the texts and rewriting the records.
func (e *Engine) KeepTokenStates(ctx context.Context) (rep TokenReport, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return rep, err
	}
	defer done(&err)
	if err := e.metric.Needs("token states"); err != nil {
		return rep, err
	}
	switch {
	case e.vectorsOnly():
		return rep, fmt.Errorf("%w: this database holds vectors alone, of no encoder that could give token states", ErrInvalid)
	case e.enc == nil:
		return rep, ErrNoEncoder
	case e.o.TokenStates == TokenStatesOff:
		return rep, fmt.Errorf("%w: token states are %q for this database; open it with another value of TokenStates", ErrInvalid, TokenStatesOff)
	}
	if err := e.wantTokens(ctx); err != nil {
		return rep, err
	}
	late := e.vectorsFirst(ctx)
	if err := ctx.Err(); err != nil {
		return rep, err
	}
	k := keeper{e: e, rep: &rep}
	err = k.run(ctx)
	e.tokens.waiting.Store(false) // which is done
	return rep, errors.Join(err, late)
}

// vectorsFirst waits for missing vectors: an encoding of them that has begun may leave out the token states.
func (e *Engine) vectorsFirst(ctx context.Context) error {
	ref := e.db.Acquire()
	if ref == nil {
		return ErrClosed
	}
	missing := ref.Value.Chunks() > ref.Value.Encoded()
	ref.Release()
	if !missing {
		return nil
	}
	return e.db.Flush(ctx)
}

// codeWaiting makes the codes of documents that were stored before there was a basis, if they are few. A
// failure is not an error of the call that made the basis.
func (e *Engine) codeWaiting(ctx context.Context) {
	if keep, err := e.keeping(ctx, nil); err == nil && !keep || !e.tokens.waiting.Swap(false) {
		return
	}
	k := keeper{e: e, rep: &TokenReport{}, most: 4 * leastSample}
	if err := k.run(ctx); err != nil {
		e.tokens.waiting.Store(true)
		e.warn("documents that were stored before there was a basis of token states have none yet", "error", err)
	}
}

// keeper adds codes to stored documents.
type keeper struct {
	e   *Engine
	rep *TokenReport

	most   int // if not 0, work is done for the first documents alone, if they have no more tokens
	ords   []uint64
	before *tokens.List // when the call began
	done   int
	codes  coding
}

// run encodes all documents that lack codes.
func (k *keeper) run(ctx context.Context) error {
	ref := k.e.db.Acquire()
	if ref == nil {
		return ErrClosed
	}
	for ord := range ref.Value.Live.All {
		k.ords = append(k.ords, ord)
	}
	k.before = ref.Value.Tokens
	ref.Release()
	k.codes.e = k.e
	prepare := k.sample
	if k.most > 0 {
		prepare = k.first
	}
	if err := prepare(ctx); err != nil {
		return err
	}
	var page []kept
	size := 0
	for _, ord := range k.ords {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := k.lacks(ctx, ord)
		if err != nil {
			return err
		}
		if k.done++; d == nil {
			continue
		}
		page = append(page, kept{ord, d})
		size += len(d.Text) + 4*k.e.fp.Dim*len(d.Rows)
		if len(page) == pageDocuments || size >= pageBytes {
			if err := k.store(ctx, page); err != nil {
				return err
			}
			page, size = nil, 0
		}
	}
	if err := k.store(ctx, page); err != nil {
		return err
	}
	k.report(ctx)
	return nil
}

func (k *keeper) report(ctx context.Context) {
	if k.most > 0 { // part of another call
		return
	}
	k.e.report(ctx, Progress{Stage: "tokens", Done: k.done, Total: len(k.ords)})
}

// lacks returns a version that must get codes, nil for others.
func (k *keeper) lacks(ctx context.Context, ord uint64) (*store.Document, error) {
	if k.before.Has(ord) { // its first chunk
		k.rep.Already++
		return nil, nil
	}
	d, err := k.e.st.Get(ctx, ord)
	if errors.Is(err, ErrNotFound) { // replaced since, and gone
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !slices.ContainsFunc(d.Rows, func(r store.Row) bool { return len(r.Codes) == 0 }):
		k.rep.Already++
		return nil, nil
	case d.Deferred(): // it was stored since, or the encoder refused it; they come with its vectors
		k.rep.Left++
		return nil, nil
	case intake.Blank(d.Title) && intake.Blank(d.Text) && !isImage(d):
		k.rep.Left++
		return nil, nil
	}
	return d, nil
}

// first limits the documents to those before the first one with codes, if together they have at most most
// tokens, else to none.
func (k *keeper) first(ctx context.Context) error {
	left := k.most
	for i, ord := range k.ords {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := k.e.st.Rows(ctx, ord)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		for _, r := range rows {
			if len(r.Codes) > 0 {
				k.ords = k.ords[:i]
				return nil
			}
			left -= 1 + len(r.Tokens)
		}
		if left < 0 {
			k.ords = nil
			return nil
		}
	}
	return nil
}

// sampled is how many documents are encoded together for the first basis.
const sampled = 16

// sample fits the first basis on documents from all over the database.
func (k *keeper) sample(ctx context.Context) error {
	t := &k.e.tokens
	if now, _ := t.due(); now != nil {
		return nil
	}
	const parts = 1024 // of the database, one document of each
	step := max(1, len(k.ords)/parts)
	var texts []encoder.Input
	for i := step / 2; i < len(k.ords) && t.short(); i += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := k.lacks(ctx, k.ords[i])
		if err != nil {
			return err
		}
		if d != nil {
			texts = append(texts, k.e.passages(d)[0])
		}
		if len(texts) < sampled && i+step < len(k.ords) {
			continue
		}
		out, err := k.encode(ctx, texts)
		if err != nil {
			return err
		}
		for i, o := range out {
			c, err := codedOf(nil, texts[i].Text, o, k.e.fp.Dim)
			if err != nil {
				return err
			}
			t.look([]coded{c})
		}
		texts = nil
		k.e.report(ctx, Progress{Stage: "tokens"})
	}
	k.rep.Already, k.rep.Left = 0, 0 // they are counted again
	_, err := k.e.basisFor(ctx)
	return err
}

// encode returns only the states of texts.
func (k *keeper) encode(ctx context.Context, texts []encoder.Input) ([]encoder.Output, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	probed := k.e.probed(ctx)
	out, err := k.e.enc.Encode(ctx, encoder.Passage, texts, encoder.NeedHidden)
	if same := probed(); err == nil {
		err = same
	}
	if errors.Is(err, encoder.ErrNoHidden) {
		err = fmt.Errorf("%w: the encoder %s gives no token states: %w", ErrInvalid, k.e.fp.Model, err)
	}
	return out, err
}

// store codes a page of documents and commits it.
func (k *keeper) store(ctx context.Context, page []kept) error {
	if len(page) == 0 {
		return nil
	}
	var texts []encoder.Input
	var rows []*store.Row
	for _, d := range page {
		texts = append(texts, k.e.passages(d.Document)...)
		for i := range d.Rows {
			rows = append(rows, &d.Rows[i])
		}
	}
	window := k.e.keptWindow(k.e.window())
	for from := 0; from < len(texts); from += window {
		end := min(from+window, len(texts))
		out, err := k.encode(ctx, texts[from:end])
		if err != nil {
			return fmt.Errorf("encoding documents for their token states: %w", err)
		}
		var states []coded
		for i, o := range out {
			c, err := codedOf(rows[from+i], texts[from+i].Text, o, k.e.fp.Dim)
			if err != nil {
				return err
			}
			states = append(states, c)
		}
		if err := k.codes.take(ctx, states); err != nil {
			return err
		}
	}
	var coded []kept
	for _, d := range page {
		if len(d.Rows[0].Codes) == 0 { // too few tokens for a basis
			k.rep.Left++
			continue
		}
		coded = append(coded, d)
	}
	k.codes.waiting = nil
	if err := k.commit(ctx, coded); err != nil {
		return err
	}
	k.report(ctx)
	hit(ctx, "tokens-page")
	return nil
}

// commit writes documents, except those that were changed meanwhile.
func (k *keeper) commit(ctx context.Context, page []kept) error {
	n, chunks, err := k.e.rewrite(ctx, page)
	if err == nil {
		k.rep.Documents, k.rep.Chunks = k.rep.Documents+n, k.rep.Chunks+chunks
	}
	return err
}
