package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/lexsem/lexsem/store"
)

// brought says what a record brings of its rows.
type brought int

const (
	bringsText    brought = iota // where they lie, or nothing: vectors and tokens are to be made
	bringsVectors                // their tokens are to be made
	bringsAll                    // nothing is to be made, but terms for tokens
)

// reuseAll looks for what can be taken over from the stored versions of records. If all
// are stored as they are it returns the commit that has them, else 0.
func (e *Engine) reuseAll(ctx context.Context, records []record) (seq uint64, err error) {
	view, err := e.st.Snapshot()
	if err != nil {
		return 0, err
	}
	defer view.Close()
	seq = view.Seq()
	for i := range records {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		r := &records[i]
		b := bringsText
		if len(r.Rows) > 0 {
			b = bringsVectors
		}
		if err := e.reuse(ctx, view, r, b); err != nil {
			if ended := ctx.Err(); ended != nil {
				return 0, ended
			}
			return 0, &DocumentError{Position: i, ID: r.ID, Err: err}
		}
		if r.same == 0 {
			seq = 0
		}
	}
	return seq, nil
}

// reuse compares a record with the version of its id in a view. If that has the same
// texts, is cut alike, and has the vectors that the record brings, the record takes
// over its rows, and what was cut off. If all else is equal too, that version is
// what the record is the same as. Cost: two point reads, and two more where the texts are equal.
// Errors: ctx's while the text is cut, those of the store.
func (e *Engine) reuse(ctx context.Context, view *store.View, r *record, b brought) error {
	ord, ok, err := view.Lookup(r.ID)
	if r.stored = ok; err != nil || !ok {
		return err
	}
	d, err := view.Text(ord)
	if errors.Is(missing(err), ErrCorrupt) {
		return nil // the record takes its place
	}
	if err != nil {
		return err
	}
	if d.Title != r.Title || d.Media != r.Media || !bytes.Equal(d.Data, r.Data) {
		return nil
	}
	if isImage(d) && b != bringsAll { // whose text is made of its data
		r.Text = d.Text
		if b == bringsVectors {
			r.Rows[0].End = len(r.Text)
		}
	}
	if d.Text != r.Text {
		return nil
	}
	if b == bringsText {
		if err := e.cut(ctx, r); err != nil {
			return err
		}
	}
	if !slices.EqualFunc(d.Rows, r.Rows, func(a, b store.Row) bool { return a.Start == b.Start && a.End == b.End }) {
		return nil
	}
	rows, err := view.Rows(ord)
	if errors.Is(missing(err), ErrCorrupt) || err == nil && len(rows) != len(d.Rows) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Start, rows[i].End = d.Rows[i].Start, d.Rows[i].End
	}
	if !slices.EqualFunc(rows, r.Rows, func(was, is store.Row) bool {
		return (b == bringsText || slices.Equal(was.Vector, is.Vector)) &&
			(b != bringsAll || (e.terms != nil || slices.Equal(was.Tokens, is.Tokens)) && (len(is.Codes) == 0 || bytes.Equal(was.Codes, is.Codes)))
	}) || b == bringsAll && d.Truncated != r.Truncated {
		return nil
	}
	r.Rows, r.Truncated, r.whole = rows, d.Truncated, true
	if bytes.Equal(d.Metadata, r.Metadata) {
		r.same = ord
	}
	return nil
}
