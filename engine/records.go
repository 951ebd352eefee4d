package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// Record is a stored document with the vectors and tokens of all its chunks.
type Record struct {
	// Ordinal numbers the document's version: a version stored later has a higher one.
	Ordinal uint64
	store.Document
}

// Records yields the documents of one commit whose ordinals exceed after, in ascending order, like All. Use it to copy
// documents to another engine without encoding them again. Token states and impacts are left out. So are tokens that are terms of
// this database's own vocabulary. Errors: ErrInvalid for a document that has no vector yet.
func (e *Engine) Records(ctx context.Context, after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l, err := e.list(ctx, Filter{})
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer l.view.Close()
		l.met = func(ord uint64) bool { return ord > after }
		var at uint64
		for d, err := range l.records(ctx, func(ctx context.Context, ord uint64) (*store.Document, error) { at = ord; return l.view.Get(ctx, ord) }) {
			var r Record
			if err == nil && d.Deferred() {
				err = fmt.Errorf("%w: document %q has no vector yet; wait until background work has made it (Flush)", ErrInvalid, fault.Clip(d.ID))
			}
			if err == nil {
				if e.terms != nil {
					intake.DropTokens(d)
				}
				for i := range d.Rows {
					d.Rows[i].Codes, d.Rows[i].Impacts = nil, nil
				}
				r = Record{Ordinal: at, Document: *d}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// PutRecords stores documents with their vectors and tokens in one commit, and replaces documents with the same ids.
// Nothing is encoded. A database with its own vocabulary drops the tokens and makes them from the texts. Errors:
// ErrInvalid, in a *DocumentError, for a document that cannot be stored.
func (e *Engine) PutRecords(ctx context.Context, docs []store.Document) (_ AddResult, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return AddResult{}, err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	records := make([]record, len(docs))
	for i, d := range docs {
		if e.fp.VocabSize == 0 {
			d.Rows = append([]store.Row(nil), d.Rows...) // the caller's stay as they are
			intake.DropTokens(&d)
		}
		if err := e.checkRecord(&d); err != nil {
			return AddResult{}, &DocumentError{Position: i, ID: d.ID, Err: err}
		}
		records[i] = record{Document: d}
	}
	return e.stage(ctx, records, true)
}

// checkRecord returns why a document with its own rows cannot be stored, or nil.
func (e *Engine) checkRecord(d *store.Document) error {
	if err := intake.CheckID(d.ID); err != nil {
		return err
	}
	if len(d.Rows) == 0 || len(d.Rows) > limit.Rows {
		return fmt.Errorf("%w: %d chunks; a document has 1 to %d", ErrInvalid, len(d.Rows), limit.Rows)
	}
	for i, r := range d.Rows {
		switch {
		case r.Start < 0 || r.End < r.Start || r.End > len(d.Text):
			return fmt.Errorf("%w: chunk %d has the bytes %d to %d of a text of %d", ErrInvalid, i, r.Start, r.End, len(d.Text))
		case len(r.Vector) != e.fp.Dim:
			return fmt.Errorf("%w: vector %d of %d dimensions in a database of %d", ErrInvalid, i, len(r.Vector), e.fp.Dim)
		case r.Codes != nil || r.Impacts != nil:
			return fmt.Errorf("%w: chunk %d brings token states or impacts; leave them out", ErrInvalid, i)
		}
	}
	if err := intake.CheckRows(d, e.metric, e.fp.VocabSize); err != nil {
		return fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	return nil
}
