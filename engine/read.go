package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/store"
)

// All yields the documents that match f. The zero Filter matches all. Each document is in the form that Get returns.
// They come from one commit, in the order in which they were last stored. Writes continue meanwhile, and the loop may
// call the engine.
//
// An error is yielded last, with an empty Document; it is ErrClosed after Close. Cost: two reads from the store a
// document. Memory: one document, and a bit for each match.
func (e *Engine) All(ctx context.Context, f Filter) iter.Seq2[Document, error] {
	return e.walk(ctx, f, func(l list) iter.Seq2[*store.Document, error] { return l.records(ctx, l.view.Get) })
}

// List yields the documents that match f in the byte order of their ids, beginning after the id after; "" means from
// the beginning. If each list begins after the last id of the page before, every document that stays stored appears
// exactly once, whatever is written between the pages. Otherwise each call is like All. The cost does not grow with
// after: three reads a document, and one for each id between them that does not match. If few documents match, each of
// them is read once more instead.
func (e *Engine) List(ctx context.Context, f Filter, after string) iter.Seq2[Document, error] {
	return e.walk(ctx, f, func(l list) iter.Seq2[*store.Document, error] {
		return func(yield func(*store.Document, error) bool) {
			for ord, err := range l.byID(ctx, after) {
				var d *store.Document
				if err == nil {
					d, err = l.view.Get(ctx, ord)
					err = state.Missing(err)
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	})
}

// walk yields the documents of records that match f.
func (e *Engine) walk(ctx context.Context, f Filter, records func(l list) iter.Seq2[*store.Document, error]) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		l, err := e.list(ctx, f)
		if err != nil {
			yield(Document{}, err)
			return
		}
		defer l.view.Close()
		for r, err := range records(l) {
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

const (
	// idsAtOnce is how many ids byID reads at once.
	idsAtOnce = 128
	// fewSorted is the maximum number of documents that are read and sorted; more are found by a walk over
	// all ids.
	fewSorted = 512
)

// byID yields the ordinals of matching documents, in the order of their ids, beginning after one. Like records it
// holds no resource while the loop's body runs.
func (l list) byID(ctx context.Context, after string) iter.Seq2[uint64, error] {
	ctx = calls.Promptly(ctx)
	if l.n <= fewSorted {
		return l.sorted(ctx, after)
	}
	enough := errors.New("enough")
	return func(yield func(uint64, error) bool) {
		from := after + "\x00"
		for {
			var ords []uint64
			err := l.view.IDs(ctx, from, "", func(id string, ord uint64) error {
				if from = id + "\x00"; !l.met(ord) {
					return nil
				}
				if ords = append(ords, ord); len(ords) == idsAtOnce {
					return enough
				}
				return nil
			})
			for _, ord := range ords {
				if err := ctx.Err(); err != nil {
					yield(0, err)
					return
				}
				if !yield(ord, nil) {
					return
				}
			}
			if !errors.Is(err, enough) {
				if err != nil {
					yield(0, err)
				}
				return
			}
		}
	}
}

// sorted is byID, implemented by reading each matching document.
func (l list) sorted(ctx context.Context, after string) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		ords := make(map[string]uint64, l.n)
		var at uint64
		for d, err := range l.records(ctx, func(ctx context.Context, ord uint64) (*store.Document, error) { at = ord; return l.view.Text(ctx, ord) }) {
			if err != nil {
				yield(0, err)
				return
			}
			if d.ID > after {
				ords[d.ID] = at
			}
		}
		for _, id := range slices.Sorted(maps.Keys(ords)) {
			err := ctx.Err()
			if !yield(ords[id], err) || err != nil {
				return
			}
		}
	}
}

// Count returns how many documents match f, all for the zero Filter. It costs as much as a search's filter.
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
	m, err := s.Match(ctx, f)
	if err != nil {
		return 0, err
	}
	return m.Len(), nil
}

// Facets returns the k most frequent values of a metadata field among the documents that match f, with their numbers of
// documents, the most frequent first. k is at most filter.MaxFacets; 0 means 10. field is named as in a filter. An
// element of an array counts as a value; 1 and 1.0 are equal. Cost: the filter's, and one pass over all metadata.
func (e *Engine) Facets(ctx context.Context, f Filter, field string, k int) (_ []filter.Facet, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return nil, err
	}
	defer done(&err)
	path, k, err := filter.FacetsOf(field, k)
	if err != nil {
		return nil, err
	}
	return s.Facets(ctx, f, path, k)
}

// list is the part of a state that a walk over its documents needs.
type list struct {
	view *store.View      // the walk's own, which its owner closes
	live iter.Seq[uint64] // ordinals, ascending: at least of the documents that meet the filter
	met  func(ord uint64) bool
	n    int // how many meet it
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
		m, err := s.Match(ctx, f)
		if err != nil {
			return list{}, err
		}
		l.live, l.met, l.n = m.All, m.Allow, m.Len()
	}
	l.view, err = s.View.Share()
	return l, err
}

// records yields the records that read returns from the view. While the loop's body runs, no call of the
// engine is in progress, so the body may close the database.
func (l list) records(ctx context.Context, read func(ctx context.Context, ord uint64) (*store.Document, error)) iter.Seq2[*store.Document, error] {
	ctx = calls.Promptly(ctx)
	return func(yield func(*store.Document, error) bool) {
		for ord := range l.live {
			if !l.met(ord) {
				continue
			}
			err := ctx.Err()
			var d *store.Document
			if err == nil {
				d, err = read(ctx, ord)
				err = state.Missing(err)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Get returns the stored document with this id, including its vector. Errors: ErrNotFound.
func (e *Engine) Get(ctx context.Context, id string) (_ Document, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return Document{}, err
	}
	defer done(&err)
	if err := ctx.Err(); err != nil {
		return Document{}, err
	}
	ord, err := find(s, id)
	if err != nil {
		return Document{}, err
	}
	d, err := s.View.Get(ctx, ord)
	if err != nil {
		return Document{}, state.Missing(err)
	}
	return documentOf(d)
}

// documentOf converts a record to the user's form.
func documentOf(d *store.Document) (Document, error) {
	meta, err := metadataOf(d)
	if err != nil {
		return Document{}, err
	}
	doc := Document{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: meta, WordsFirst: d.Deferred()}
	if isImage(d) {
		doc.Text, doc.Media, doc.Data = "", d.Media, d.Data
	}
	if len(d.Rows) == 1 {
		doc.Vector = d.Rows[0].Vector
	}
	return doc, nil
}

// metadataOf decodes a stored document's metadata. Numbers are json.Number, so that no digits are lost.
func metadataOf(d *store.Document) (map[string]any, error) {
	if len(d.Metadata) == 0 {
		return nil, nil
	}
	m, err := metadata.Parse(d.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%w: metadata of %q: %v", store.ErrCorrupt, fault.Clip(d.ID), err)
	}
	return m, nil
}

// find returns the version of a stored document.
func find(s *state.State, id string) (uint64, error) {
	if err := intake.CheckID(id); err != nil {
		return 0, err
	}
	ord, ok, err := s.View.Lookup(id)
	if err == nil && !ok {
		err = fmt.Errorf("document %q: %w", fault.Clip(id), ErrNotFound)
	}
	return ord, err
}
