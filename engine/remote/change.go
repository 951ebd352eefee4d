package remote

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/intake"
)

// Patch implements engine.Database. On an error earlier patches may be stored.
func (r *Database) Patch(ctx context.Context, patches []engine.Patch) (n int, err error) {
	ctx, done, err := r.write(ctx)
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
			return 0, &engine.DocumentError{Position: i, ID: p.ID, Err: err}
		}
	}
	for some := range slices.Chunk(merges.All, atOnce) {
		ids := make([]string, len(some))
		for i, m := range some {
			ids[i] = m.ID
		}
		stored, err := r.b.Documents(ctx, ids)
		if err != nil {
			return n, err
		}
		var puts [][]Passage
		for i, m := range some {
			changed, err := patched(ctx, stored[i], m)
			if err != nil {
				return n, &engine.DocumentError{Position: m.Position, ID: m.ID, Err: err}
			}
			if changed {
				puts = append(puts, stored[i])
			}
		}
		if len(puts) == 0 {
			continue
		}
		err = r.b.Put(ctx, puts, false)
		r.wrote()
		if err != nil {
			return n, err
		}
		n += len(puts)
	}
	return n, nil
}

// patched merges metadata into the passages of a document, and reports whether they changed.
func patched(ctx context.Context, ps []Passage, m intake.Merge) (changed bool, err error) {
	if len(ps) == 0 {
		return false, engine.ErrNotFound
	}
	raw, changed, err := m.Apply(ctx, []byte(ps[0].Metadata))
	if err != nil || !changed {
		return false, err
	}
	facts, err := filter.Facts(raw)
	if err != nil {
		return false, err
	}
	for i := range ps {
		ps[i].Metadata, ps[i].Facts = string(raw), facts
	}
	return true, nil
}

// Delete implements engine.Database.
func (r *Database) Delete(ctx context.Context, ids []string) (n int, err error) {
	ctx, done, err := r.write(ctx)
	if err != nil {
		return 0, err
	}
	defer done(&err)
	for _, id := range ids {
		if err := intake.CheckID(id); err != nil {
			return 0, err
		}
	}
	return r.remove(ctx, ids)
}

func (r *Database) remove(ctx context.Context, ids []string) (n int, err error) {
	defer r.wrote()
	for some := range slices.Chunk(ids, atOnce) {
		k, err := r.b.Delete(ctx, some)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// DeleteWhere implements engine.Database: it lists the documents that match f and deletes them.
func (r *Database) DeleteWhere(ctx context.Context, f engine.Filter) (n int, err error) {
	if f.IsZero() {
		return 0, fmt.Errorf("%w: an empty filter would delete everything; name a condition", engine.ErrInvalid)
	}
	ctx, done, err := r.write(ctx)
	if err != nil {
		return 0, err
	}
	defer done(&err)
	var ids []string
	for p, err := range r.b.Scan(ctx, f, ScanOptions{}) {
		if err != nil {
			return 0, err
		}
		if p.Chunk == 0 {
			ids = append(ids, p.ID)
		}
	}
	return r.remove(ctx, ids)
}
