package state

import (
	"context"
	"slices"

	"github.com/lexsem/lexsem/store"
)

// replay brings each part that was read to the view's commit. Vectors come before sums,
// which read vectors of any chunk; removed vectors leave the index last.
func (d *DB) replay(ctx context.Context, s *State, at commits) (*State, error) {
	by := map[uint64]parts{} // parts by the commit they are at
	for p, seq := range at {
		if seq < s.View.Seq() {
			by[seq] |= p
		}
	}
	var froms []uint64
	for seq := range by {
		froms = append(froms, seq)
	}
	slices.Sort(froms)
	var late []uint64
	one := func(from uint64, p parts) error {
		next, gone, err := d.replayFrom(ctx, s, from, p)
		if err == nil && p.has(vectors) {
			late = idsOf(gone)
		}
		s = next
		return err
	}
	if seq, ok := at[vectors]; ok && by[seq].has(vectors) && !by[seq].has(sums) {
		if err := one(seq, vectors); err != nil {
			return s, err
		}
		by[seq] &^= vectors
	}
	for _, from := range froms {
		if by[from] == 0 {
			continue
		}
		if err := one(from, by[from]); err != nil {
			return s, err
		}
	}
	if len(late) > 0 {
		s.Vectors.Delete(late)
	}
	return s, nil
}

// replayBlock is how many documents a replay reads at a time.
const replayBlock = 2048

// replayFrom brings parts from a commit to the view's, and returns the removed chunks,
// whose vectors stay in the index.
func (d *DB) replayFrom(ctx context.Context, s *State, from uint64, p parts) (*State, []Version, error) {
	var changes []Change
	if err := s.View.Log(ctx, from, func(_ uint64, c store.Change) error {
		changes = append(changes, Change{Change: c})
		return nil
	}); err != nil {
		return s, nil, err
	}
	d.pending = max(d.pending, len(changes))
	df, err := d.diffOf(ctx, changes)
	if err != nil {
		return s, nil, err
	}
	gone := df
	gone.live, gone.added = nil, nil
	if s, err = d.follow(ctx, s, gone, p); err != nil {
		return s, nil, err
	}
	for ords := range slices.Chunk(df.live, replayBlock) {
		come := diff{live: ords}
		for _, ord := range ords {
			doc, err := s.View.Get(ctx, ord)
			if err != nil {
				return s, nil, err
			}
			come.added = append(come.added, VersionsOf(ord, doc)...)
		}
		if s, err = d.follow(ctx, s, come, p); err != nil {
			return s, nil, err
		}
	}
	return s, df.gone, nil
}

// follow applies a change to some parts; local bridges only record it for the maintainer.
func (d *DB) follow(ctx context.Context, s *State, df diff, p parts) (*State, error) {
	if p.has(bridges) {
		d.localBacklog.add(df)
	}
	return d.apply(ctx, s, fed(df), p)
}
