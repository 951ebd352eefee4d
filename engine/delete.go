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
// zero Filter, which matches all documents. Cost: one filter, a read from the store for each match, and the delete.
func (e *Engine) DeleteWhere(ctx context.Context, f Filter) (int, error) {
	if f.IsZero() {
		return 0, fmt.Errorf("%w: an empty filter would delete everything; name a condition", ErrInvalid)
	}
	return e.remove(ctx, func(ctx context.Context, s *state.State) (ids []string, err error) {
		m, err := s.Columns.Match(ctx, f)
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
			d, err := s.View.Text(ord)
			if err != nil {
				return nil, missing(err)
			}
			ids = append(ids, d.ID)
		}
		return ids, nil
	})
}

// remove deletes the documents that choose names while no other write can come
// between.
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

// commit makes one commit of what stage puts into a batch, if that changes anything, and
// returns how many changes it has.
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

// discard gives back a batch that was not committed. What it has staged goes beside
// the caller, whose context may have ended; the next write waits for that, and gets
// the error if it fails.
func discard(b *store.Batch) { go b.Discard() }

// chosen are the ids that choose names in the state of the last commit.
func (e *Engine) chosen(ctx context.Context, choose func(context.Context, *state.State) ([]string, error)) (_ []string, err error) {
	if err := e.db.Settled(ctx); err != nil {
		return nil, err
	}
	ref := e.db.Acquire()
	defer ref.Release()
	defer snapshot.Guard(&err)()
	return choose(ctx, ref.Value)
}
