package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// The list of the chunks that have codes of token states. The codes lie in the store.

func (d *DB) editTokens(ctx context.Context, cur *State, in *feed) (*tokens.List, error) {
	list := cur.Tokens
	if list.Wasteful() {
		list = list.Only(cur.Sees)
	}
	added, err := in.whole(ctx)
	if err != nil {
		return nil, err
	}
	came := make([]tokens.Chunk, len(added))
	for i, v := range added {
		came[i] = tokens.Chunk{ID: v.ID, Bytes: v.Codes}
	}
	return list.Next(came, idsOf(in.gone))
}

// Codes calls fn with the codes of token states of each of n chunks that has some; the codes are valid during the call.
// at returns the id of a chunk. It stops at an error of fn and returns it. Errors: that of ctx, store.ErrCorrupt. Cost:
// some 10 µs for each uncached chunk.
func (s *State) Codes(ctx context.Context, n int, at func(i int) uint64, fn func(i int, codes []byte) error) error {
	var places []store.RowAt
	var of []int
	for i := range n {
		id := at(i)
		if !s.Tokens.Has(id) {
			continue
		}
		if codes := s.cached.Get(id); codes != nil {
			if err := fn(i, codes); err != nil {
				return err
			}
			continue
		}
		places, of = append(places, store.RowAt{Ord: chunk.Ord(id), Row: chunk.Number(id)}), append(of, i)
	}
	if len(places) == 0 {
		return nil
	}
	return Missing(s.View.Codes(ctx, places, func(i int, codes []byte) error {
		s.cached.Put(at(of[i]), bytes.Clone(codes), len(codes))
		return fn(of[i], codes)
	}))
}

// openBlock opens a file of codes that an older program has written.
func (d *DB) openBlock(name string) (*snapshot.File, error) {
	f, err := snapshot.Open(d.path(name))
	if err != nil {
		return nil, fmt.Errorf("%w: block %s: %w", tokens.ErrCorrupt, name, err)
	}
	if err := foreign(f.Header(), name, d.st.Manifest().UUID); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: block %s: %w", tokens.ErrCorrupt, name, err), f.Close())
	}
	return f, nil
}

// MostCached is the default size of the cache of codes: reading them from the store takes longer than comparing
// them.
const MostCached = 16 << 20

// mostCached returns the maximum number of cached bytes of codes.
func (o Options) mostCached() int {
	if o.MaxBytes > 0 {
		return int(min(MostCached, o.MaxBytes/16))
	}
	return MostCached
}

// dropBlocks removes the files of blocks.
func (d *DB) dropBlocks() error {
	entries, err := os.ReadDir(filepath.Join(d.o.Dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name := tokens.BlockName(e.Name()); name != "" {
			err = errors.Join(err, d.removeOwn(d.path(name)))
		}
	}
	return err
}
