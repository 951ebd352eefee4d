package engine

import (
	"context"

	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/store"
)

// Patch is a change of one document's metadata.
type Patch struct {
	ID string
	// Metadata is merged into those of the document by RFC 7396: nil removes a key,
	// an object is merged into the object that is there, any other value takes the
	// place of what is there.
	Metadata map[string]any
}

// Patch changes the metadata of stored documents, atomically and durably: all of
// them or, on any error, none. It returns how many documents that changed; one that
// has them already is not written. Several patches of one id are merged in their order.
// Texts, vectors and tokens stay as they are, and nothing is encoded. An id that is
// not stored is a *DocumentError that wraps ErrNotFound.
//
// Cost: that of Upsert without the encoder. The document gets a new version: its
// record is written anew with its text and vectors, its words are analysed, and
// index, sums and local bridges take the new version in and the old one out; for
// Stats and an update of a fit it counts as replaced.
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
