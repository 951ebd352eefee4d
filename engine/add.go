package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/store"
)

// Add stores new documents in one commit: all of them or, on an error, none. When Add returns, the documents are on
// disk (see Options.NoSync) and found by Search.
//
// Errors: ErrExists, in a *DocumentError, for an id that is already stored or occurs twice. Cost: encoding the texts, a
// few hundred tokens a millisecond and core; equal ones near each other once.
func (e *Engine) Add(ctx context.Context, docs []Document) (AddResult, error) {
	return e.put(ctx, docs, false)
}

// Upsert stores documents like Add, but replaces stored documents with the same id. If an id occurs twice in docs, the
// last document is stored.
//
// A document whose title, text and chunk division are unchanged is not encoded again; only its metadata is written. It
// keeps its vectors even if they were given as Vector: delete it first to encode it. A document with a Vector is
// compared by the Vector. Unchanged documents are not written (AddResult.Unchanged).
func (e *Engine) Upsert(ctx context.Context, docs []Document) (AddResult, error) {
	return e.put(ctx, docs, true)
}

// put validates, encodes and stores.
func (e *Engine) put(ctx context.Context, docs []Document, replace bool) (_ AddResult, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return AddResult{}, err
	}
	defer done(&err)
	if len(docs) == 0 {
		return AddResult{Seq: e.st.Seq()}, nil
	}
	records, err := e.check(ctx, docs, replace)
	if err != nil {
		return AddResult{}, err
	}
	if replace {
		if seq, err := e.reuseAll(ctx, records); err != nil {
			return AddResult{}, err
		} else if seq > 0 {
			return AddResult{Seq: seq, Unchanged: len(records)}, nil
		}
	}
	if err := e.encode(ctx, records); err != nil {
		return AddResult{}, err
	}
	if err := e.mayDefer(ctx, records); err != nil {
		return AddResult{}, err
	}
	res, err := e.stage(ctx, records, replace)
	if err == nil {
		e.wordWaiting(ctx)
		e.codeWaiting(ctx)
	}
	return res, err
}

// check validates docs before any costly work and returns their records, not
// yet encoded.
func (e *Engine) check(ctx context.Context, docs []Document, replace bool) ([]record, error) {
	records := make([]record, len(docs))
	seen := make(map[string]struct{}, len(docs))
	space := e.space()
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d := &docs[i]
		refuse := func(err error) error { return &DocumentError{Position: i, ID: d.ID, Err: err} }
		if err := intake.CheckID(d.ID); err != nil {
			return nil, refuse(err)
		}
		if !replace {
			if _, twice := seen[d.ID]; twice {
				return nil, refuse(intake.ErrTwice)
			}
			seen[d.ID] = struct{}{}
			if _, ok, err := e.st.Lookup(d.ID); err != nil {
				return nil, refuse(err)
			} else if ok {
				return nil, refuse(intake.ErrStored)
			}
		}
		r := record{Document: store.Document{ID: d.ID, Title: d.Title, Text: d.Text, Data: d.Data}, breaks: d.Breaks}
		var err error
		if r.Media, err = e.checkImage(d); err != nil {
			return nil, refuse(err)
		}
		raw, vector, err := space.Document(ctx, intake.Document(*d), isImage(&r.Document))
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, refuse(err)
		}
		r.Metadata = raw
		if r.later = d.WordsFirst && vector == nil; r.later {
			if err := e.defers(isImage(&r.Document)); err != nil {
				return nil, refuse(err)
			}
		}
		if vector != nil {
			r.Rows = []store.Row{{End: len(r.Text), Vector: vector}}
		}
		records[i] = r
	}
	return records, nil
}

// encode cuts texts into chunks, and fills vectors, tokens and truncation of the
// records that lack them.
func (e *Engine) encode(ctx context.Context, records []record) (err error) {
	if e.enc == nil {
		return nil // every document brought its vector; check refused others
	}
	if err := e.wordsForAll(ctx, records); err != nil {
		return err
	}
	if e.uncalibrated(records) {
		defer func() {
			if err == nil { // after the texts, with which the probe texts are encoded
				err = e.calibrate(ctx)
			}
		}()
	}
	e.editsFirst(records)
	window := e.window()
	keep, err := e.keeps(ctx, records)
	if err != nil {
		return err
	}
	if keep {
		window = e.keptWindow(window)
	}
	codes := coding{e: e, more: true}
	// wanted are the rows that lack a vector, the next window of them.
	type wanted struct{ document, row int }
	var texts []encoder.Input
	var rows []wanted
	flush := func(done int) error {
		if len(texts) > 0 {
			probing := e.unprobed()
			if probing { // in the same call: another would cost its time
				texts = append(texts, encoder.Texts(encoder.ProbeTexts[:]...)...)
			}
			out, states, err := e.encodePassages(ctx, texts, keep)
			keep = states
			var one *encoder.TextError
			if errors.As(err, &one) && one.Text >= 0 && one.Text < len(rows) {
				at := rows[one.Text].document
				if errors.Is(one.Err, picture.ErrImage) {
					one.Err = fmt.Errorf("%w: %w", ErrInvalid, one.Err)
				}
				return &DocumentError{Position: at, ID: records[at].ID, Err: one.Err}
			}
			if err != nil {
				return fmt.Errorf("encoding documents %d to %d: %w", rows[0].document, rows[len(rows)-1].document, err)
			}
			if probing {
				if err := e.compare(ctx, out[len(rows):]); err != nil {
					return err
				}
			}
			var kept []coded
			for i, w := range rows {
				r := &records[w.document]
				r.Rows[w.row].Vector, r.Rows[w.row].Impacts = e.storable(out[i].Dense), search.StoredImpacts(out[i].Impacts)
				if isImage(&r.Document) {
					e.spell(&r.Document, out[i].Tokens)
				} else {
					intake.SetTokens(&r.Document, w.row, out[i].Tokens, e.short)
				}
				if keep {
					c, err := codedOf(&r.Rows[w.row], texts[i].Text, out[i], e.fp.Dim)
					if err != nil {
						return &DocumentError{Position: w.document, ID: r.ID, Err: err}
					}
					kept = append(kept, c)
				}
			}
			if err := codes.take(ctx, kept); err != nil {
				return err
			}
			e.encoded.Add(int64(len(rows)))
			if window = e.window(); keep {
				window = e.keptWindow(window)
			}
		}
		texts, rows = nil, rows[:0] // an encoder that outlives the call may read texts
		e.report(ctx, Progress{Stage: "encode", Done: done, Total: len(records)})
		return nil
	}
	ready := func(r *record) bool { return len(r.Rows) > 0 && r.Rows[0].Vector != nil && !r.part }
	var own []*store.Document // that brought their vectors
	for i := range records {
		if r := &records[i]; ready(r) && !r.whole {
			own = append(own, &r.Document)
		}
	}
	if err := e.db.Parallel(ctx, len(own), func(i int) {
		if tokens, err := e.chunks.Tokenize(ctx, search.EncoderText(search.StoredSource(own[i].Metadata), own[i].Title, own[i].Text)); err == nil {
			intake.SetTokens(own[i], 0, tokens, e.short)
		}
	}); err != nil {
		return err
	}
	for i := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := &records[i]
		if !ready(r) {
			if err := e.cut(ctx, r); err != nil {
				return err
			}
			if r.later {
				r.whole = true
				continue
			}
			title := r.Title
			if len(r.Rows) > 1 {
				var left int
				if title, left, err = e.chunks.CutTitle(ctx, title); err != nil {
					return err
				}
				r.Truncated += int32(left)
			}
			source := search.StoredSource(r.Metadata)
			for j := range r.Rows {
				if r.Rows[j].Vector != nil {
					continue
				}
				if len(texts) == window {
					if err := flush(i); err != nil {
						return err
					}
				}
				in := encoder.Input{Text: search.EncoderText(source, title, r.Text[r.Rows[j].Start:r.Rows[j].End])}
				if isImage(&r.Document) {
					in = imageOf(&r.Document)
				}
				texts, rows = append(texts, in), append(rows, wanted{i, j})
			}
		}
	}
	codes.more = false
	if err := flush(len(records)); err != nil || len(codes.waiting) == 0 {
		return err
	}
	return codes.take(ctx, nil)
}

// importBatch stores records of documents that may be stored already.
func (e *Engine) importBatch(ctx context.Context, records []record, encode bool) (_ AddResult, err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return AddResult{}, err
	}
	defer done(&err)
	if encode {
		if err := e.encode(ctx, records); err != nil {
			return AddResult{}, err
		}
	}
	res, err := e.stage(ctx, records, true)
	if err == nil {
		e.codeWaiting(ctx)
	}
	return res, err
}
