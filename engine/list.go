package engine

import (
	"context"
	"iter"

	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/store"
)

// All yields the documents that match f. The zero Filter matches all. Each document is as Get returns it. They come
// from one commit, in the order in which they were last stored. Writes continue meanwhile, and the loop may call the engine.
//
// An error is yielded last, with an empty Document; it is ErrClosed after Close. Cost: two reads from the store a
// document. Memory: one document, and a bit for each match.
func (e *Engine) All(ctx context.Context, f Filter) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		l, err := e.list(ctx, f)
		if err != nil {
			yield(Document{}, err)
			return
		}
		defer l.view.Close()
		for r, err := range l.records(ctx, l.view.Get) {
			var d Document
			if err == nil {
				d, err = documentOf(r)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Count returns how many documents match f, all for the zero Filter. It costs as much as the filter of a search.
func (e *Engine) Count(ctx context.Context, f Filter) (_ int, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return 0, err
	}
	defer done(&err)
	if f.IsZero() {
		return s.View.Len(), ctx.Err()
	}
	m, err := s.Columns.Match(ctx, f)
	if err != nil {
		return 0, err
	}
	return m.Len(), nil
}

// list is what of one state a walk over its documents needs.
type list struct {
	view *store.View      // the walk's own, which its owner closes
	live iter.Seq[uint64] // ordinals, ascending
	met  func(ord uint64) bool
	n    int // documents that meet the filter
}

func (e *Engine) list(ctx context.Context, f Filter) (l list, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return list{}, err
	}
	defer done(&err)
	l.live, l.met, l.n = s.Live.All, func(uint64) bool { return true }, s.View.Len()
	if !f.IsZero() {
		m, err := s.Columns.Match(ctx, f)
		if err != nil {
			return list{}, err
		}
		l.met, l.n = m.Allow, m.Len()
	}
	l.view, err = s.View.Share()
	return l, err
}

// records yields records as read reads them of the view. No call of the engine runs while the loop's body
// does, so that the body may close the database.
func (l list) records(ctx context.Context, read func(ord uint64) (*store.Document, error)) iter.Seq2[*store.Document, error] {
	ctx = calls.Promptly(ctx)
	return func(yield func(*store.Document, error) bool) {
		for ord := range l.live {
			if !l.met(ord) {
				continue
			}
			err := ctx.Err()
			var d *store.Document
			if err == nil {
				d, err = read(ord)
				err = missing(err)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}
