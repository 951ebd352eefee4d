package engine

import (
	"context"

	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/store"
)

// Patch changes the metadata of one document.
type Patch struct {
	ID string // id of the document
	// Metadata is merged into the document's metadata by RFC 7396: nil removes a key, an object is merged into the
	// existing object, any other value replaces the existing one.
	Metadata map[string]any
}

// Patch changes the metadata of stored documents in one commit: all of them or, on an error, none. It returns how many
// documents changed. Several patches of one id are merged in order. Texts and vectors do not change, and nothing is
// encoded.
//
// Errors: a *DocumentError that wraps ErrNotFound for an id that is not stored. Cost: that of Upsert without the
// encoder, as each changed document becomes a new version and counts as replaced.
func (e *Engine) Patch(ctx context.Context, patches []Patch) (_ int, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return 0, err
	}
	defer done(&err)
	var merges intake.Merges
	for i, p := range patches {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := merges.Add(i, p.ID, p.Metadata); err != nil {
			return 0, &DocumentError{Position: i, ID: p.ID, Err: err}
		}
	}
	if len(merges.All) == 0 {
		return 0, nil
	}
	return e.commit(ctx, func(b *store.Batch) (changes []state.Change, err error) {
		for i, m := range merges.All {
			d, changed, err := e.merged(ctx, m)
			var c store.Change
			if err == nil && changed {
				c, err = b.Put(ctx, d)
			}
			if err != nil {
				return nil, &DocumentError{Position: m.Position, ID: m.ID, Err: err}
			}
			if changed {
				changes = append(changes, state.Change{Change: c, Now: state.VersionsOf(c.New, d)})
			}
			if i%1000 == 999 {
				e.report(ctx, Progress{Stage: "store", Done: i + 1, Total: len(merges.All)})
			}
		}
		return changes, nil
	})
}

// merged is the record of a document with other metadata, if they are others. The
// caller has begun a batch, so that nobody else changes it.
func (e *Engine) merged(ctx context.Context, m intake.Merge) (_ *store.Document, changed bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	ord, ok, err := e.st.Lookup(m.ID)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return nil, false, err
	}
	d, err := e.st.Get(ord)
	if err != nil {
		return nil, false, missing(err)
	}
	raw, changed, err := m.Apply(d.Metadata)
	if err != nil || !changed {
		return d, false, err
	}
	d.Metadata = raw
	return d, true, nil
}
