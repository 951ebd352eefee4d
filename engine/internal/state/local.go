package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/store"
)

// WantLocal asks for local bridges. They exist once the maintainer has built them.
func (d *DB) WantLocal() {
	if !d.localWanted.Swap(true) {
		d.wake()
	}
}

// followLocal builds requested local bridges, and updates them to the present state while they fit into
// memory. If an update fails, it drops them, since they would fall further behind; the next try rebuilds
// them.
func (d *DB) followLocal(ctx context.Context, s *State) (worked bool, err error) {
	if !d.localWanted.Load() {
		return false, nil
	}
	if !d.holdsLocal(s) {
		if s.Local == nil {
			return false, nil
		}
		return true, d.giveUpLocal()
	}
	done := false
	defer func() {
		if !done || err != nil && ctx.Err() == nil {
			err = errors.Join(err, d.giveUpLocal())
		}
	}()
	worked, err = d.tendLocal(ctx, s)
	done = true
	return worked, err
}

// giveUpLocal publishes a state without local bridges.
func (d *DB) giveUpLocal() error {
	return d.change(context.Background(), func(next *State) error {
		d.finish(&d.localBacklog)
		next.Local, next.LocalSeq, next.Fresh = nil, 0, nil
		d.pending = max(d.pending, 1)
		return nil
	})
}

func (d *DB) tendLocal(ctx context.Context, s *State) (bool, error) {
	if s.Local == nil {
		if s.Encoded() == 0 {
			return false, nil
		}
		b := &d.localBacklog
		ref, err := d.begin(ctx, b)
		if err != nil {
			return false, err
		}
		defer ref.Release()
		s = ref.Value
		d.maintainer.report("local bridges", 0, s.Chunks())
		built, err := d.buildLocal(ctx, s)
		if err != nil {
			return false, err
		}
		return true, d.change(ctx, func(next *State) error {
			next.Local, next.LocalSeq, next.Fresh = built, s.Seq, nil
			for _, v := range b.added {
				next.Fresh = append(next.Fresh, v.ID)
			}
			d.unsaved = true
			return nil
		})
	}
	if s.LocalSeq < s.Seq {
		return d.catchUpLocal(ctx)
	}
	if s.Local.Outgrown() {
		d.maintainer.report("local bridges", 0, s.Chunks())
		fresh, err := s.Local.Repartition(ctx)
		if err != nil {
			return false, err
		}
		return true, d.change(ctx, func(next *State) error {
			if next.Local == s.Local { // always so: only the maintainer changes it
				next.Local = fresh
			}
			return nil
		})
	}
	return false, nil
}

// catchUpLocal applies the changes of later commits to the local bridges.
func (d *DB) catchUpLocal(ctx context.Context) (bool, error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	df, base, fresh := d.localBacklog.take(), d.now, len(d.now.Fresh)
	d.turn.unlock()
	ended := make(map[uint64]bool, len(df.gone))
	for _, v := range df.gone {
		ended[v.ID] = true
	}
	e := base.Local.Edit()
	for _, v := range df.gone {
		e.Remove(v.ID)
	}
	for _, v := range df.added {
		if ended[v.ID] {
			continue
		}
		if err := e.Add(v.ID, v.Vector, v.Tokens); err != nil {
			return false, err
		}
	}
	built, err := e.Done(ctx)
	if err != nil { // of ctx, and nothing comes after it, or the bridges are given up
		return false, err
	}
	return true, d.change(ctx, func(next *State) error {
		next.Local, next.LocalSeq = built, base.Seq
		next.Fresh = slices.Clone(next.Fresh[fresh:])
		return nil
	})
}

func (d *DB) localOptions() local.Options { return local.Options{Seed: 1, Workers: d.workers} }

// buildLocal builds local bridges over a state.
func (d *DB) buildLocal(ctx context.Context, s *State) (*local.Bridges, error) {
	var rows []store.Row
	of := uint64(0)
	return local.Build(ctx, d.o.Dim, d.o.Vocab, local.Source{
		IDs: s.IDs(), Vectors: d.ownVector,
		Tokens: func(id uint64) (_ []int32, err error) {
			if ord := chunk.Ord(id); ord != of { // chunks of a document may come one after the other
				if rows, err = s.View.Rows(ctx, ord); err != nil {
					return nil, err
				}
				of = ord
			}
			if chunk.Number(id) >= len(rows) {
				return nil, fmt.Errorf("%w: version %d has no chunk %d", store.ErrCorrupt, of, chunk.Number(id))
			}
			return rows[chunk.Number(id)].Tokens, nil
		},
	}, d.localOptions())
}

// WithLocal is s with local bridges, which it builds if s has none. It does not publish the result.
func (d *DB) WithLocal(ctx context.Context, s *State) (*State, error) {
	if s.Local != nil || s.Encoded() == 0 {
		return s, nil
	}
	built, err := d.buildLocal(ctx, s)
	if err != nil {
		return nil, err
	}
	with := *s
	with.Local, with.LocalSeq, with.Fresh, with.Modulators = built, s.Seq, nil, &sync.Map{}
	return &with, nil
}
