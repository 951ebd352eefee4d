package engine

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// Delete removes the documents with these ids in one commit, and returns their number. It ignores unknown ids. Errors:
// ErrInvalid for an id that no document can have.
func (e *Engine) Delete(ctx context.Context, ids []string) (int, error) {
	for _, id := range ids {
		if err := intake.CheckID(id); err != nil {
			return 0, err
		}
	}
	return e.remove(ctx, func(context.Context, *state.State) ([]string, error) { return ids, nil })
}

// DeleteWhere removes the documents that match f in one commit, and returns their number. Errors: ErrInvalid for the
// zero Filter, which matches all documents, also as And, Or and Not make it of zero Filters. Cost: one filter, a read
// from the store for each match, and the delete.
func (e *Engine) DeleteWhere(ctx context.Context, f Filter) (int, error) {
	if f.IsZero() {
		return 0, fmt.Errorf("%w: an empty filter would delete everything; name a condition", ErrInvalid)
	}
	return e.remove(ctx, func(ctx context.Context, s *state.State) (ids []string, err error) {
		m, err := s.Match(ctx, f)
		if err != nil || m.Len() == 0 {
			return nil, err
		}
		for ord := range s.Live.All {
			if !m.Allow(ord) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			d, err := s.View.Text(ctx, ord)
			if err != nil {
				return nil, state.Missing(err)
			}
			ids = append(ids, d.ID)
		}
		return ids, nil
	})
}

// remove deletes the documents that choose names; no other write can happen in between.
func (e *Engine) remove(ctx context.Context, choose func(context.Context, *state.State) ([]string, error)) (_ int, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return 0, err
	}
	defer done(&err)
	return e.commit(ctx, func(b *store.Batch) (changes []state.Change, err error) {
		ids, err := e.chosen(ctx, choose)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			c, ok, err := b.Delete(ctx, id)
			if err != nil {
				return nil, err
			}
			if ok {
				changes = append(changes, state.Change{Change: c})
			}
		}
		return changes, nil
	})
}

// commit makes one commit of the changes that stage puts into a batch, and returns their number. Without
// changes it makes none.
func (e *Engine) commit(ctx context.Context, stage func(*store.Batch) ([]state.Change, error)) (int, error) {
	b, err := e.st.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer discard(b)
	changes, err := stage(b)
	if err != nil || len(changes) == 0 {
		return 0, err
	}
	if _, err := e.db.Commit(ctx, b, changes); err != nil {
		return 0, err
	}
	return len(changes), nil
}

// discard releases a batch that was not committed. Removing its staged records takes time and runs in the
// background. The next write waits for it, and gets its error.
func discard(b *store.Batch) { go b.Discard() }

// chosen returns the ids that choose selects in the state of the last commit.
func (e *Engine) chosen(ctx context.Context, choose func(context.Context, *state.State) ([]string, error)) (_ []string, err error) {
	if err := e.db.Settled(ctx); err != nil {
		return nil, err
	}
	ref := e.db.Acquire()
	defer ref.Release()
	defer snapshot.Guard(&err)()
	return choose(ctx, ref.Value)
}

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
		if err := merges.Add(ctx, i, p.ID, p.Metadata); err != nil {
			if ended := ctx.Err(); ended != nil {
				return 0, ended
			}
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

// merged returns the record of a document with merged metadata, and whether they changed. The caller has
// begun a batch, so no other write can change the document.
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
	d, err := e.st.Get(ctx, ord)
	if err != nil {
		return nil, false, state.Missing(err)
	}
	raw, changed, err := m.Apply(ctx, d.Metadata)
	if err != nil || !changed {
		return d, false, err
	}
	d.Metadata = raw
	return d, true, nil
}

// rewrite stores documents again in one commit, unless they have changed since, and counts them and their
// chunks.
func (e *Engine) rewrite(ctx context.Context, page []kept) (n, chunks int, err error) {
	records := make([]record, len(page))
	for i, d := range page {
		records[i].Document = *d.Document
	}
	_, err = e.commit(ctx, func(b *store.Batch) (changes []state.Change, err error) {
		if err := e.storeBases(ctx, b, records); err != nil {
			return nil, err
		}
		for _, d := range page {
			now, err := b.Lookup(ctx, d.ID)
			if err != nil {
				return nil, err
			}
			if now != d.ord {
				continue
			}
			c, err := b.Put(ctx, d.Document)
			if err != nil {
				return nil, err
			}
			changes = append(changes, state.Change{Change: c, Now: state.VersionsOf(c.New, d.Document)})
			n, chunks = n+1, chunks+len(d.Rows)
		}
		return changes, nil
	})
	return n, chunks, err
}

// kept is a version and its document.
type kept struct {
	ord uint64
	*store.Document
}
