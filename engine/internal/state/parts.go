package state

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// The immutable parts, each brought from one state to the next.

func (d *DB) editWords(ctx context.Context, cur *State, in *feed) (*inverted.Words, error) {
	e := cur.Words.Edit()
	if err := each(ctx, step, in.gone, func(vs []Version) error { _, err := e.Remove(idsOf(vs)); return err }); err != nil {
		return nil, err
	}
	terms := make([][]text.Term, step)
	err := in.each(ctx, step, func(vs []Version) error {
		if err := d.Parallel(ctx, len(vs), func(i int) { terms[i] = d.wordsWithin(ctx, terms[i][:0], vs[i]) }); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil { // some may lack their terms
			return err
		}
		for i, v := range vs {
			if err := e.Add(v.ID, terms[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.Done(), nil
}

// editImpacts follows the impacts of words. What the store has of them was checked when it was written.
func (d *DB) editImpacts(ctx context.Context, cur *State, in *feed) (*inverted.Words, error) {
	if d.o.Impacts == "" {
		return cur.Impacts, nil
	}
	e := cur.Impacts.Edit()
	if err := each(ctx, step, in.gone, func(vs []Version) error { _, err := e.Remove(idsOf(vs)); return err }); err != nil {
		return nil, err
	}
	var terms []text.Term
	err := in.each(ctx, step, func(vs []Version) (err error) {
		for _, v := range vs {
			if len(v.Impacts) == 0 {
				continue
			}
			if terms, err = inverted.ImpactTerms(terms[:0], v.Impacts); err != nil {
				return fmt.Errorf("%w: chunk %d of version %d: %w", store.ErrCorrupt, chunk.Number(v.ID), chunk.Ord(v.ID), err)
			}
			if err := e.Add(v.ID, terms); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.Done(), nil
}

// Parallel calls f for 0 to n-1, on as many goroutines as background work may use, and
// returns the error of ctx if that ends first.
func (d *DB) Parallel(ctx context.Context, n int, f func(i int)) error {
	var next atomic.Int64
	var g errgroup.Group
	for range min(d.workers(), n) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				f(i)
			}
		})
	}
	return g.Wait()
}

func (d *DB) editColumns(ctx context.Context, cur *State, in *feed) (*columns.Columns, error) {
	e := cur.Columns.Edit()
	for i, ord := range in.dead {
		if i%step == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e.Remove(ord)
	}
	err := in.each(ctx, step, func(vs []Version) error {
		for _, v := range vs {
			if chunk.Number(v.ID) > 0 { // metadata are the document's
				continue
			}
			if err := e.Add(v.ID, v.Metadata); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.Done(), nil
}

// sumsBatch is how many chunks are added to the sums at a time. Larger batches cost less
// per chunk, since tokens are sorted within a batch.
const sumsBatch = 256

// noSums returns sums without chunks.
func (d *DB) noSums() (*ridge.Sums, error) {
	return ridge.NewSums(d.o.Dim, d.o.Vocab, d.o.Lambda, d.vector)
}

func (d *DB) editSums(ctx context.Context, cur *State, in *feed) (*ridge.Sums, error) {
	if !d.o.Metric.Directions() {
		return cur.Sums, nil
	}
	e := cur.Sums.Edit().Obey(ctx)
	with := func(put func(ids []uint64, xs [][]float32, tokens [][]int32) error) func([]Version) error {
		return func(vs []Version) error {
			if vs = withVectors(vs); len(vs) == 0 {
				return nil
			}
			xs, tokens := make([][]float32, len(vs)), make([][]int32, len(vs))
			for i, v := range vs {
				xs[i], tokens[i] = v.Vector, v.Tokens
			}
			return put(idsOf(vs), xs, tokens)
		}
	}
	if err := each(ctx, sumsBatch, in.gone, with(e.RemoveAll)); err != nil {
		return nil, err
	}
	if err := in.each(ctx, sumsBatch, with(e.AddAll)); err != nil {
		return nil, err
	}
	return e.Done()
}

// compactable is a part that keeps removed entries in memory for a while.
type compactable[P any] interface {
	Wasteful() bool
	Dead() int // documents that are gone and were not left out yet
	Compacted(ctx context.Context) (P, error)
	Rebase(base, fresh P) (P, error)
}

// compactPart rebuilds a part without removed entries if these are many, or if documents
// were refused for lack of memory. Commits go on meanwhile, and it then applies their
// changes.
func compactPart[P compactable[P]](ctx context.Context, d *DB, s *State, name string, part func(s *State) *P) (bool, error) {
	base := *part(s)
	if !base.Wasteful() && (base.Dead() == 0 || !d.refused.Load()) {
		return false, nil
	}
	d.maintainer.report(name, 0, 0)
	fresh, err := base.Compacted(ctx)
	if err != nil {
		return false, err
	}
	return true, d.change(ctx, func(next *State) (err error) {
		p := part(next)
		*p, err = (*p).Rebase(base, fresh)
		return err
	})
}

func (d *DB) compactWords(ctx context.Context, s *State) (bool, error) {
	done, err := compactPart(ctx, d, s, "words", func(s *State) **inverted.Words { return &s.Words })
	if err != nil || done {
		return done, err
	}
	return compactPart(ctx, d, s, "words", func(s *State) **inverted.Words { return &s.Impacts })
}

func (d *DB) compactColumns(ctx context.Context, s *State) (bool, error) {
	return compactPart(ctx, d, s, "metadata", func(s *State) **columns.Columns { return &s.Columns })
}

func (d *DB) compactSums(ctx context.Context, s *State) (bool, error) {
	if m := &d.maintainer; s.Sums.Rowless() && (d.o.ReadOnly || !m.hurried()) && m.opened.since() < rest { // a program that only asks once does without rows
		m.later = true
		return false, nil
	}
	worked, err := compactPart(ctx, d, s, "sums", func(s *State) **ridge.Sums { return &s.Sums })
	if d.Repair(&err) { // it reads all, so it is often the first to meet damage
		return true, nil
	}
	return worked, err
}
