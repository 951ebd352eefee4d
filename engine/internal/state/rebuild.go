package state

import (
	"context"
	"errors"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/store"
)

// rebuild rebuilds parts from the documents of the view, and reports how many are done.
func (d *DB) rebuild(ctx context.Context, s *State, missing parts, progress func(stage string, done, total int)) (*State, error) {
	next := *s
	bridges := next.Local
	next.Local = nil // they have their own chunks, and none is fresh for being read again
	if missing.has(live) {
		next.Live, next.Limit = cow.Set{}, 0
	}
	if missing.has(vectors) {
		kind := d.first()
		x, err := index.New(kind, d.indexOptions())
		if err != nil {
			return s, err
		}
		next.Vectors = &Vectors{x, kind}
		d.vectors.Store(next.Vectors)
	}
	var err error
	if missing.has(words) {
		if next.Words, err = inverted.NewWords(d.wordsOptions()); err != nil {
			return s, err
		}
	}
	if missing.has(metadata) {
		next.Columns = columns.New()
	}
	if missing.has(sums) {
		if next.Sums, err = d.noSums(); err != nil {
			return s, err
		}
		if ridge.Cheap(next.View.Len(), d.o.Dim) { // as after opening: the maintainer makes the rows
			next.Sums = next.Sums.WithoutRows()
		}
	}
	if missing.has(codes) {
		next.Tokens = tokens.New()
	}
	if missing.has(impacts) {
		if next.Impacts, err = inverted.NewWords(d.impactOptions()); err != nil {
			return s, err
		}
	}
	cur := &next
	rows, texts := missing&(live|vectors|sums|codes|impacts), missing&(words|metadata)
	done, total := 0, 0
	for _, p := range []parts{rows, texts} {
		if p != 0 {
			total += next.View.Len()
		}
	}
	var df diff
	var p parts
	flush := func() error {
		if len(df.added) == 0 {
			return nil
		}
		next, err := d.apply(ctx, cur, fed(df), p)
		if err != nil {
			return err
		}
		cur, df = next, diff{}
		progress("rebuild", done, total)
		return nil
	}
	take := func(ord uint64, vs []Version) error {
		df.live = append(df.live, ord)
		df.added = append(df.added, vs...)
		if done++; len(df.live) < replayBlock {
			return nil
		}
		return flush()
	}
	if p = rows; p != 0 {
		err := next.View.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
			vs := rowsOf(nil, ord, rows)
			for i := range vs { // valid during the call only
				vs[i].Vector, vs[i].Tokens, vs[i].Impacts = slices.Clone(vs[i].Vector), slices.Clone(vs[i].Tokens), slices.Clone(vs[i].Impacts)
			}
			return take(ord, vs)
		})
		if err := errors.Join(err, flush()); err != nil {
			return s, err
		}
	}
	if missing.has(sums) && ridge.Cheap(cur.Sums.Len(), d.o.Dim) { // or searches would do without RLR at first
		if cur.Sums, err = cur.Sums.Later(ctx); err != nil {
			return s, err
		}
	}
	if p = texts; p != 0 {
		err := next.View.ScanDocuments(ctx, 0, func(ord uint64, doc *store.Document) error {
			return take(ord, VersionsOf(ord, doc))
		})
		if err := errors.Join(err, flush()); err != nil {
			return s, err
		}
	}
	cur.Local = bridges
	return cur, nil
}

// first is the kind of index that a rebuild makes.
func (d *DB) first() string {
	if d.auto() {
		return index.KindFlatInt8 // the maintainer makes a graph of it
	}
	return d.o.Index
}
