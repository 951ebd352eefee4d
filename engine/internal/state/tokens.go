package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// The codes of token states lie in blocks, each a file of its own that is written once.
// Those of commits since the last block are in memory; the maintainer makes a block of
// them, and a commit before it adds to what the maintainer has let grow too far.

// tokenTail is how much lies in memory before the maintainer makes a block of it. A commit
// adds to no more than mostTails times that.
func (d *DB) tokenTail() int64 {
	if d.o.TokenTail > 0 {
		return d.o.TokenTail
	}
	return tokens.TailBytes
}

const mostTails = 4

func (d *DB) editTokens(ctx context.Context, cur *State, in *feed) (_ *tokens.Codes, err error) {
	codes := cur.Tokens
	if codes.Unsealed() >= mostTails*d.tokenTail() && !d.o.ReadOnly {
		if codes, err = codes.Sealed(ctx, d.writeBlock(cur), nil); err != nil {
			return nil, err
		}
	}
	added, err := in.whole(ctx)
	if err != nil {
		return nil, err
	}
	came := make([]tokens.Chunk, 0, len(added))
	for _, v := range added {
		came = append(came, tokens.Chunk{ID: v.ID, Codes: v.Codes})
	}
	return codes.Next(came, idsOf(in.gone))
}

// sealTokens makes a block of what lies in memory, or one of blocks of which most is gone.
func (d *DB) sealTokens(ctx context.Context, s *State) (bool, error) {
	base := s.Tokens
	make := base.Sealed
	switch {
	case d.o.ReadOnly:
		return false, nil
	case base.Wasteful():
		make = base.Compacted
	case base.Unsealed() < d.tokenTail():
		return false, nil
	}
	d.maintainer.report("tokens", 0, 0)
	fresh, err := make(ctx, d.writeBlock(s), s.Sees)
	if err != nil {
		return false, err
	}
	var next *tokens.Codes
	err = d.change(ctx, func(now *State) error {
		next, _ = now.Tokens.Rebase(base, fresh, now.Sees)
		now.Tokens = next
		return nil
	})
	if err != nil {
		return false, err
	}
	d.giveUpBlocks(slices.Concat(base.Names(), fresh.Names()), next)
	return true, d.notePending(ctx)
}

// notePending has Close write the list of blocks; until then the files that the last one names are kept.
func (d *DB) notePending(ctx context.Context) error {
	if err := d.turn.lock(ctx); err != nil {
		return err
	}
	defer d.turn.unlock()
	d.pending = max(d.pending, 1)
	return nil
}

// writeBlock is how a block of a state is written.
func (d *DB) writeBlock(s *State) tokens.Files {
	return func(name string, write func(w *snapshot.Writer) error) (*snapshot.File, error) {
		history, ok, err := s.View.HistoryAt(s.Seq)
		if err == nil && !ok {
			err = fmt.Errorf("commit %d is not known any more", s.Seq)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(d.o.Dir, folder), private.Folder)
		}
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		if d.written == nil {
			d.written = map[string]bool{}
		}
		d.written[name] = true
		d.mu.Unlock()
		h := snapshot.Header{Kind: name, Version: version, Seq: s.Seq, Database: d.st.Manifest().UUID, History: history}
		if err := snapshot.Write(d.path(name), h, write); err != nil {
			return nil, err
		}
		return d.openBlock(name)
	}
}

// openBlock maps a block of this database until the end.
func (d *DB) openBlock(name string) (*snapshot.File, error) {
	f, err := snapshot.Open(d.path(name))
	if err != nil {
		return nil, fmt.Errorf("%w: block %s: %w", tokens.ErrCorrupt, name, err)
	}
	if err := foreign(f.Header(), name, d.st.Manifest().UUID); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: block %s: %w", tokens.ErrCorrupt, name, err), f.Close())
	}
	d.mu.Lock()
	d.mapped = append(d.mapped, f)
	d.mu.Unlock()
	return f, nil
}

// giveUpBlocks notes that of some blocks only those of now are in use.
func (d *DB) giveUpBlocks(names []string, now *tokens.Codes) {
	kept := now.Names()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if !slices.Contains(kept, name) {
			delete(d.written, name)
		}
	}
}

// dropBlocks removes the files of blocks that neither the saved codes nor later ones of
// this process have.
func (d *DB) dropBlocks(saved *tokens.Codes) error {
	entries, err := os.ReadDir(filepath.Join(d.o.Dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kept := saved.Names()
	for _, e := range entries {
		name := tokens.BlockName(e.Name())
		d.mu.Lock()
		written := d.written[name]
		d.mu.Unlock()
		if name == "" || written || slices.Contains(kept, name) {
			continue
		}
		if err := d.removeOwn(d.path(name)); err != nil {
			return err
		}
	}
	return nil
}
