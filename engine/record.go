package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/store"
)

// record is a document on its way into the store.
type record struct {
	store.Document
	breaks []int  // Document.Breaks
	whole  bool   // its rows have all that they are to have
	part   bool   // some of its rows do
	stored bool   // its id was, when this was looked up
	same   uint64 // the stored version that it equals; 0 for none
	later  bool   // its vectors are made in the background
	of     uint64 // the stored version that it completes, and nothing but that; 0 for any
}

// cut divides the text of a record without rows into rows.
func (e *Engine) cut(ctx context.Context, r *record) error {
	if len(r.Rows) > 0 {
		return nil
	}
	if isImage(&r.Document) {
		r.Rows = []store.Row{{End: len(r.Text)}}
		return nil
	}
	chunks, err := e.chunks.Split(ctx, r.Title, r.Text, r.breaks)
	if err != nil {
		return err
	}
	for _, s := range chunks {
		r.Rows = append(r.Rows, store.Row{Start: s.Start, End: s.End})
	}
	if len(r.Rows) == 0 {
		r.Rows = []store.Row{{End: len(r.Text)}}
	}
	return nil
}

// brought says which parts of its rows a record already has.
type brought int

const (
	bringsText    brought = iota // where they lie, or nothing: vectors and tokens are to be made
	bringsVectors                // their tokens are to be made
	bringsAll                    // nothing is to be made, but terms for tokens
)

// reuseAll looks for parts of the stored versions of records that can be reused. If all records are stored
// unchanged, it returns their commit, else 0.
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

// reuse compares a record with the stored version of its id in a view. If the version has the same texts,
// chunks and given vectors, the record takes over its rows and its count of cut tokens. If everything else is
// equal too, the record counts as unchanged. Cost: two point reads, and two more if the texts are equal. It
// returns the error of ctx while the text is cut, and errors of the store.
func (e *Engine) reuse(ctx context.Context, view *store.View, r *record, b brought) error {
	ord, ok, err := view.Lookup(r.ID)
	if r.stored = ok; err != nil || !ok {
		return err
	}
	d, err := view.Text(ctx, ord)
	if errors.Is(state.Missing(err), ErrCorrupt) {
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
		return e.reusePassages(ctx, view, ord, d, r, b)
	}
	if b == bringsText {
		if err := e.cut(ctx, r); err != nil {
			return err
		}
	}
	if !slices.EqualFunc(d.Rows, r.Rows, func(a, b store.Row) bool { return a.Start == b.Start && a.End == b.End }) {
		return nil
	}
	rows, err := wholeRows(ctx, view, ord, d)
	if rows == nil || err != nil {
		return err
	}
	if !r.later && len(rows[0].Vector) == 0 { // they are made now
		return nil
	}
	for i := range rows {
		rows[i].Start, rows[i].End = d.Rows[i].Start, d.Rows[i].End
	}
	if !slices.EqualFunc(rows, r.Rows, func(was, is store.Row) bool {
		return (b == bringsText || slices.Equal(was.Vector, is.Vector)) &&
			(b != bringsAll || (e.terms != nil || slices.Equal(was.Tokens, is.Tokens)) && (len(is.Codes) == 0 || bytes.Equal(was.Codes, is.Codes)) && bytes.Equal(was.Impacts, is.Impacts))
	}) || b == bringsAll && d.Truncated != r.Truncated {
		return nil
	}
	r.Rows, r.Truncated, r.whole = rows, d.Truncated, true
	if bytes.Equal(d.Metadata, r.Metadata) {
		r.same = ord
	}
	return nil
}

// reusePassages takes over the rows of passages that are also in the previous version of an edited text, since
// encoding them is most of the cost of storing a text. d is the previous version, with the same title and media
// type.
func (e *Engine) reusePassages(ctx context.Context, view *store.View, ord uint64, d *store.Document, r *record, b brought) error {
	if b != bringsText || e.enc == nil || isImage(d) || d.Truncated > 0 {
		return nil
	}
	if err := e.cut(ctx, r); err != nil {
		return err
	}
	rows, err := wholeRows(ctx, view, ord, d)
	if rows == nil || err != nil {
		return err
	}
	if len(rows[0].Vector) == 0 { // it is not encoded yet
		return nil
	}
	keep, err := e.keeping(ctx, nil)
	if err != nil {
		return err
	}
	before := map[string]store.Row{}
	for i, in := range e.passages(d) {
		if row := rows[i]; !keep || len(row.Codes) > 0 {
			before[in.Text] = row
		}
	}
	for i, in := range e.passages(&r.Document) {
		was, ok := before[in.Text]
		if !ok {
			continue
		}
		row := &r.Rows[i]
		row.Vector, row.Tokens, row.Impacts, r.part = was.Vector, was.Tokens, was.Impacts, true
		if keep {
			row.Codes = was.Codes
		}
	}
	return nil
}

// wholeRows returns the rows of a stored version d. It returns nil if they are damaged, and nothing is then
// reused.
func wholeRows(ctx context.Context, view *store.View, ord uint64, d *store.Document) ([]store.Row, error) {
	rows, err := view.Rows(ctx, ord)
	if errors.Is(state.Missing(err), ErrCorrupt) || err == nil && len(rows) != len(d.Rows) {
		return nil, nil
	}
	return rows, err
}
