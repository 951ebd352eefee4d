package remote

import (
	"context"
	"fmt"
	"iter"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
)

// Get implements engine.Database.
func (r *Database) Get(ctx context.Context, id string) (_ engine.Document, err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return engine.Document{}, err
	}
	defer done(&err)
	if err := intake.CheckID(id); err != nil {
		return engine.Document{}, err
	}
	docs, err := r.b.Documents(ctx, []string{id})
	if err != nil {
		return engine.Document{}, err
	}
	if len(docs[0]) == 0 {
		return engine.Document{}, fmt.Errorf("document %q: %w", fault.Clip(id), engine.ErrNotFound)
	}
	return documentOfPassage(docs[0][0])
}

// documentOfPassage converts a document's first passage to the user's form.
func documentOfPassage(p Passage) (engine.Document, error) {
	meta, err := metadata.Parse([]byte(p.Metadata))
	if err != nil {
		return engine.Document{}, fmt.Errorf("%w: metadata of %q: %v", engine.ErrCorrupt, fault.Clip(p.ID), err)
	}
	d := engine.Document{ID: p.ID, Title: p.Title, Text: p.Text, Metadata: meta}
	if p.Chunks > 1 {
		d.Text = p.Whole
	} else {
		d.Vector = p.Vector
	}
	return d, nil
}

// All implements engine.Database, in an order of the Backend. Documents written during the loop may be missing.
func (r *Database) All(ctx context.Context, f engine.Filter) iter.Seq2[engine.Document, error] {
	return r.List(ctx, f, "")
}

// List implements engine.Database, in the Backend's order of ids.
func (r *Database) List(ctx context.Context, f engine.Filter, after string) iter.Seq2[engine.Document, error] {
	return func(yield func(engine.Document, error) bool) {
		done, err := r.calls.Enter()
		if err == nil {
			done() // the loop's body may close the database
			err = f.Err()
		}
		if err != nil {
			yield(engine.Document{}, err)
			return
		}
		for p, err := range r.b.Scan(calls.Promptly(ctx), f, ScanOptions{After: after}) {
			if err == nil && p.Chunk > 0 {
				continue
			}
			var d engine.Document
			if err == nil {
				d, err = documentOfPassage(p)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Count implements engine.Database.
func (r *Database) Count(ctx context.Context, f engine.Filter) (_ int, err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done(&err)
	if err := f.Err(); err != nil {
		return 0, err
	}
	return r.b.Count(ctx, f)
}

// Facets implements engine.Database. It reads all documents that match f.
func (r *Database) Facets(ctx context.Context, f engine.Filter, field string, k int) (_ []filter.Facet, err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done(&err)
	path, k, err := filter.FacetsOf(field, k)
	if err != nil {
		return nil, err
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	read := columns.New().Edit()
	var n uint64
	for p, err := range r.b.Scan(ctx, f, ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		if p.Chunk > 0 {
			continue
		}
		n++
		if err := read.Add(n, []byte(p.Metadata)); err != nil {
			return nil, fmt.Errorf("%w: metadata of %q in %s: %v", engine.ErrCorrupt, fault.Clip(p.ID), r.b.Name(), err)
		}
	}
	return read.Done().Facets(ctx, nil, path, k)
}
