package state

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lexsem/lexsem/store"
)

// deadBytes is the minimum size of replaced and deleted versions, if they also exceed the live ones, at which
// the derived state is saved, so that the store can drop them. Replacing one large document is one change but
// takes much space.
const deadBytes = 64 << 20

// heavy says that.
func heavy(v *store.View) (bool, error) {
	live, dead, _, err := v.Space()
	return dead > max(deadBytes, live), err
}

// Compact frees all unused disk space: it saves the derived state, removes old versions from the store and
// rewrites its tables. The maintainer does the work; if ctx ends, the work goes on.
func (d *DB) Compact(ctx context.Context) error {
	d.compactWanted.Store(true)
	return d.Flush(ctx)
}

// compact is a task of the maintainer.
func (d *DB) compact(ctx context.Context, _ *State) (bool, error) {
	if !d.compactWanted.Load() {
		return false, nil
	}
	if d.o.NoSync { // snapshots must not be ahead of what is durable
		if err := d.st.Flush(ctx); err != nil {
			return false, err
		}
	}
	if err := d.save(ctx); err != nil {
		return false, err
	}
	d.maintainer.report("compact", 0, 0)
	err := d.st.Reclaim(ctx, func() error { return d.renew(ctx) })
	if errors.Is(err, store.ErrNoSpace) && !d.maintainer.hurried() {
		d.compactWanted.Store(false) // only rest asked for it
		d.warn("no room to reclaim the space of removed documents", "error", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d.compactWanted.Store(false)
	return true, nil
}

// renew publishes the present state over the current view of the store, since an older view keeps removed
// records.
func (d *DB) renew(ctx context.Context) error {
	return d.change(ctx, func(next *State) error {
		view, err := d.st.Snapshot()
		if err == nil {
			next.View, next.views = view, share(view)
		}
		return err
	})
}

// reclaimAfter is the time without commits after which space is reclaimed automatically, unless Options say
// otherwise; reclaimSlack is the number of bytes that are not worth it.
const (
	reclaimAfter = 30 * time.Second
	reclaimSlack = 8 << 20
)

// tidy asks for a compaction while nothing is written, once in each idle period.
func (d *DB) tidy(_ context.Context, s *State) (bool, error) {
	if d.o.NoSync || d.o.ReadOnly {
		return false, nil
	}
	m := &d.maintainer
	if seq := d.st.Seq(); m.restSince.IsZero() || seq != m.restSeq {
		m.restSeq, m.restSince, m.tidied = seq, time.Now(), false
	}
	if m.tidied {
		return false, nil
	}
	live, dead, tables, err := s.View.Space()
	if err != nil || max(tables, live+dead) <= 2*live+reclaimSlack {
		return false, err
	}
	if time.Since(m.restSince) < cmp.Or(d.o.ReclaimAfter, reclaimAfter) {
		m.later = true
		return false, nil
	}
	m.tidied = true
	d.compactWanted.Store(true)
	return false, nil
}

// wasteful reports whether the tables are more than twice as large as their records, by enough to be worth
// rewriting.
func wasteful(v *store.View) (bool, error) {
	live, dead, tables, err := v.Space()
	return tables > 2*(live+dead)+deadBytes, err
}
