package engine

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/metadata"
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
	merges, err := mergesOf(ctx, patches)
	if err != nil || len(merges) == 0 {
		return 0, err
	}
	return e.commit(ctx, func(b *store.Batch) (changes []state.Change, err error) {
		for i, m := range merges {
			d, changed, err := e.merged(ctx, m)
			var c store.Change
			if err == nil && changed {
				c, err = b.Put(ctx, d)
			}
			if err != nil {
				return nil, &DocumentError{Position: m.position, ID: m.id, Err: err}
			}
			if changed {
				changes = append(changes, state.Change{Change: c, Now: state.VersionsOf(c.New, d)})
			}
			if i%1000 == 999 {
				e.report(ctx, Progress{Stage: "store", Done: i + 1, Total: len(merges)})
			}
		}
		return changes, nil
	})
}

// merge is what is to be merged into the metadata of one document.
type merge struct {
	id       string
	position int              // of its first patch
	patches  []map[string]any // as JSON reads them
}

// mergesOf checks patches and gathers those of each document.
func mergesOf(ctx context.Context, patches []Patch) ([]merge, error) {
	var merges []merge
	at := make(map[string]int, len(patches))
	for i, p := range patches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		refuse := func(err error) error { return &DocumentError{Position: i, ID: p.ID, Err: err} }
		if err := checkID(p.ID); err != nil {
			return nil, refuse(err)
		}
		raw, err := metadata.Encode(p.Metadata)
		if err != nil {
			return nil, refuse(err)
		}
		m, err := metadata.Parse(raw)
		if err != nil {
			return nil, refuse(fmt.Errorf("%w: %w", ErrInvalid, err))
		}
		j, again := at[p.ID]
		if !again {
			j = len(merges)
			at[p.ID] = j
			merges = append(merges, merge{id: p.ID, position: i})
		}
		merges[j].patches = append(merges[j].patches, m)
	}
	return merges, nil
}

// merged is the record of a document with other metadata, if they are others. The
// caller has begun a batch, so that nobody else changes it.
func (e *Engine) merged(ctx context.Context, m merge) (_ *store.Document, changed bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	ord, ok, err := e.st.Lookup(m.id)
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
	now, err := metadataOf(d)
	if err != nil {
		return nil, false, err
	}
	for _, p := range m.patches {
		now = metadata.Merge(now, p)
	}
	raw, err := encodeMetadata(now)
	if err != nil {
		return nil, false, err
	}
	if bytes.Equal(raw, d.Metadata) {
		return d, false, nil
	}
	d.Metadata = raw
	return d, true, nil
}
