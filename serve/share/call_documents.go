package share

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/metadata"
)

var add = newCall("Add", writes, documents, plain[engine.AddResult](), engine.Database.Add)

// Add is engine.Engine.Add. The process that has the database open encodes the texts.
func (j *Joined) Add(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return add.from(ctx, j, docs)
}

var upsert = newCall("Upsert", writes|repeats, documents, plain[engine.AddResult](), engine.Database.Upsert)

// Upsert is engine.Engine.Upsert. If the call was repeated, documents that the first attempt stored
// count as unchanged.
func (j *Joined) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return upsert.from(ctx, j, docs)
}

var patchAll = newCall("Patch", writes, many(patched, func(i int, p engine.Patch, err error) error {
	return &engine.DocumentError{Position: i, ID: p.ID, Err: err}
}), plain[int](), engine.Database.Patch)

// Patch is engine.Engine.Patch.
func (j *Joined) Patch(ctx context.Context, patches []engine.Patch) (int, error) {
	return patchAll.from(ctx, j, patches)
}

var remove = newCall("Delete", writes, plain[[]string](), plain[int](), engine.Database.Delete)

// Delete is engine.Engine.Delete.
func (j *Joined) Delete(ctx context.Context, ids []string) (int, error) {
	return remove.from(ctx, j, ids)
}

var removeWhere = newCall("DeleteWhere", writes, filtered, plain[int](), engine.Database.DeleteWhere)

// DeleteWhere is engine.Engine.DeleteWhere.
func (j *Joined) DeleteWhere(ctx context.Context, f engine.Filter) (int, error) {
	return removeWhere.from(ctx, j, f)
}

var get = newCall("Get", repeats, plain[string](), whole, engine.Database.Get)

// Get is engine.Engine.Get.
func (j *Joined) Get(ctx context.Context, id string) (engine.Document, error) {
	return get.from(ctx, j, id)
}

var count = newCall("Count", repeats, filtered, plain[int](), engine.Database.Count)

// Count is engine.Engine.Count.
func (j *Joined) Count(ctx context.Context, f engine.Filter) (int, error) {
	return count.from(ctx, j, f)
}

var facets = newCall("Facets", repeats, form[facetsOf, facetsOf]{
	func(o facetsOf) (facetsOf, error) { return o, o.Filter.Err() },
	func(o facetsOf) (facetsOf, error) { return o, nil },
}, form[[]filter.Facet, []byte]{
	func(fs []filter.Facet) ([]byte, error) { return json.Marshal(fs) },
	func(raw []byte) (fs []filter.Facet, err error) {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return fs, d.Decode(&fs)
	},
}, func(db engine.Database, ctx context.Context, o facetsOf) ([]filter.Facet, error) {
	return db.Facets(ctx, o.Filter, o.Field, o.K)
})

// Facets is engine.Engine.Facets.
func (j *Joined) Facets(ctx context.Context, f engine.Filter, field string, k int) ([]filter.Facet, error) {
	return facets.from(ctx, j, facetsOf{f, field, k})
}

// facetsOf holds the arguments of Facets.
type facetsOf struct {
	Filter engine.Filter
	Field  string
	K      int
}

var all = newCall("All", repeats, walks, absent[nothing](),
	func(db engine.Database, ctx context.Context, w walk) (nothing, error) {
		return nothing{}, w.over(db.All(ctx, w.Filter))
	}, walked)

// All is engine.Engine.All. Memory: one document and the buffers of the connection.
func (j *Joined) All(ctx context.Context, f engine.Filter) iter.Seq2[engine.Document, error] {
	return j.walk(ctx, all, listing{Filter: f})
}

var list = newCall("List", repeats, walks, absent[nothing](),
	func(db engine.Database, ctx context.Context, w walk) (nothing, error) {
		return nothing{}, w.over(db.List(ctx, w.Filter, w.After))
	}, walked)

// List is engine.Engine.List. Memory: one document and the buffers of the connection.
func (j *Joined) List(ctx context.Context, f engine.Filter, after string) iter.Seq2[engine.Document, error] {
	return j.walk(ctx, list, listing{f, after})
}

// listing selects the documents of a walk.
type listing struct {
	Filter engine.Filter
	After  string
}

// walk holds the arguments of All and List, and the body of the loop.
type walk struct {
	listing
	Each func(engine.Document) error
}

// over runs the body of the loop on some documents.
func (w walk) over(docs iter.Seq2[engine.Document, error]) error {
	for d, err := range docs {
		if err == nil {
			err = w.Each(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var walks = form[walk, listing]{
	func(w walk) (listing, error) { return w.listing, w.Filter.Err() },
	func(l listing) (walk, error) { return walk{listing: l}, nil },
}

// walked sends the documents of a walk.
var walked = streams[walk]{
	func(w walk, how *asked) {
		how.item = func(raw []byte) error {
			wired, err := decode[document](raw)
			if err != nil {
				return err
			}
			d, err := whole.from(wired)
			if err != nil {
				return err
			}
			return w.Each(d)
		}
	},
	func(_ context.Context, w *walk, s *session) error {
		w.Each = func(d engine.Document) error {
			wired, err := whole.to(d)
			if err != nil {
				return err
			}
			return s.item(wired)
		}
		return nil
	},
}

// errStop ends a walk if the loop over it ends.
var errStop = errors.New("the loop has ended")

// walk runs the loop over a walk.
func (j *Joined) walk(ctx context.Context, c *call[walk, listing, nothing, nothing], l listing) iter.Seq2[engine.Document, error] {
	return func(yield func(engine.Document, error) bool) {
		_, err := c.from(ctx, j, walk{l, func(d engine.Document) error {
			if !yield(d, nil) {
				return errStop
			}
			return nil
		}})
		if err != nil && !errors.Is(err, errStop) {
			yield(engine.Document{}, err)
		}
	}
}

// document is engine.Document with vector and metadata in another form.
type document struct {
	engine.Document
	Packed packed
	Meta   []byte
}

var whole = form[engine.Document, document]{
	func(d engine.Document) (document, error) {
		meta, err := encodeMeta(d.Metadata)
		w := document{d, pack(d.Vector), meta}
		w.Vector, w.Metadata = nil, nil
		return w, err
	},
	func(w document) (engine.Document, error) {
		v, e1 := w.Packed.unpack()
		m, e2 := decodeMeta(w.Meta)
		w.Vector, w.Metadata = v, m
		return w.Document, errors.Join(e1, e2)
	},
}

var documents = many(whole, func(i int, d engine.Document, err error) error {
	return &engine.DocumentError{Position: i, ID: d.ID, Err: err}
})

var patched = described(func(p *engine.Patch) *map[string]any { return &p.Metadata })

// meta is a value with its metadata in another form.
type meta[T any] struct {
	Value T
	Meta  []byte
}

// described is the form for values with metadata, which at returns.
func described[T any](at func(*T) *map[string]any) form[T, meta[T]] {
	return form[T, meta[T]]{
		func(v T) (meta[T], error) {
			raw, err := encodeMeta(*at(&v))
			*at(&v) = nil
			return meta[T]{v, raw}, err
		},
		func(w meta[T]) (_ T, err error) {
			*at(&w.Value), err = decodeMeta(w.Meta)
			return w.Value, err
		},
	}
}

// encodeMeta writes metadata in the stored form; nil if there are none.
func encodeMeta(m map[string]any) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	return metadata.Encode(m)
}

func decodeMeta(raw []byte) (map[string]any, error) {
	m, err := metadata.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errProtocol, err)
	}
	return m, nil
}
