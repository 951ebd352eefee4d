package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Derived state follows one protocol: a checksummed snapshot file made at some
// commit, then replay of the change log after it. A snapshot that is damaged,
// stale or of another database is rebuilt from the store, never trusted.

const (
	derivedDir     = "derived"
	kindSums       = "sums"
	derivedVersion = 1
	// saveAfter is the least number of changes after which a running engine
	// saves its derived state; beyond it a quarter of the corpus decides, so
	// that saving costs a constant share of adding.
	saveAfter = 20_000
)

// change is one applied change with what the derived state needs of it.
type change struct {
	store.Change
	vector []float32
	tokens []int32
}

// openDerived brings index and sums to the store's last commit.
func (e *Engine) openDerived(ctx context.Context) error {
	e.kind = e.o.Index
	if e.kind == "" {
		e.kind = "flat"
		if e.st.Len() > AutoHNSW {
			e.kind = "hnsw"
		}
	}
	if err := e.loadDerived(ctx); err == nil {
		return e.see()
	} else if ctx.Err() != nil {
		return ctx.Err()
	} else if !errors.Is(err, os.ErrNotExist) {
		e.warn("rebuilding derived state from the store", "dir", e.dir, "reason", err)
	}
	if err := e.rebuild(ctx); err != nil {
		return err
	}
	return e.see()
}

func (e *Engine) indexOptions() index.Options {
	return index.Options{Dim: e.fp.Dim, Metric: metric}
}

// rebuild makes index and sums from one scan of the store.
func (e *Engine) rebuild(ctx context.Context) error {
	idx, err := index.New(e.kind, e.indexOptions())
	if err != nil {
		return err
	}
	sums := modulate.NewSums(e.fp.Dim, e.fp.VocabSize)
	b := bulk{idx: idx, sums: sums}
	seq, done, total := e.st.Seq(), 0, e.st.Len()
	err = e.st.Scan(ctx, 0, func(ord uint64, v []float32, tokens []int32) error {
		done++
		if done%encodeWindow == 0 || done == total {
			e.progress(Progress{Stage: "rebuild", Done: done, Total: total})
		}
		return b.add(ord, v, tokens)
	})
	if err == nil {
		err = b.flush()
	}
	if err != nil {
		return fmt.Errorf("rebuilding the index of %s: %w", e.dir, err)
	}
	e.idx, e.sums, e.seq, e.saved, e.pending = idx, sums, seq, 0, total
	return nil
}

// bulk feeds vectors and tokens to an index and to sums in blocks; either may
// be nil.
type bulk struct {
	idx     index.Index
	sums    *modulate.Sums
	ids     []uint64
	vectors []float32
	tokens  [][]int32
}

func (b *bulk) add(ord uint64, v []float32, tokens []int32) error {
	b.ids = append(b.ids, ord)
	b.vectors = append(b.vectors, v...)
	b.tokens = append(b.tokens, append([]int32(nil), tokens...))
	if len(b.ids) == 1024 {
		return b.flush()
	}
	return nil
}

func (b *bulk) flush() error {
	if len(b.ids) == 0 {
		return nil
	}
	if b.idx != nil {
		if err := b.idx.Add(b.ids, b.vectors); err != nil {
			return err
		}
	}
	if b.sums != nil {
		if err := b.sums.AddAll(b.vectors, b.tokens); err != nil {
			return err
		}
	}
	b.ids, b.vectors, b.tokens = b.ids[:0], b.vectors[:0], b.tokens[:0]
	return nil
}

// applyChanges brings the derived state from the commit before seq to seq.
func (e *Engine) applyChanges(ctx context.Context, seq uint64, changes []change) error {
	type old struct {
		ord    uint64
		vector []float32
		tokens []int32
	}
	var gone []old
	for _, c := range changes {
		if c.Old == 0 {
			continue
		}
		v, tokens, err := e.st.Row(c.Old)
		if err != nil {
			return fmt.Errorf("old version of %q: %w", clip(c.ID), err)
		}
		gone = append(gone, old{c.Old, v, tokens})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	b := bulk{idx: e.idx, sums: e.sums}
	for _, c := range changes {
		if c.New != 0 {
			if err := b.add(c.New, c.vector, c.tokens); err != nil {
				return err
			}
		}
	}
	if err := b.flush(); err != nil {
		return err
	}
	ids := make([]uint64, len(gone))
	for i, g := range gone {
		ids[i] = g.ord
		if err := e.sums.Remove(g.vector, g.tokens); err != nil {
			return fmt.Errorf("removing document %d from the sums: %w", g.ord, err)
		}
	}
	e.idx.Delete(ids)
	for _, c := range changes {
		e.countFresh(c.Change)
	}
	if err := e.see(); err != nil {
		return err
	}
	e.seq = seq
	e.pending += len(changes)
	if e.o.Index == "" && e.kind == "flat" && e.idx.Len() > AutoHNSW {
		return e.toHNSW(ctx)
	}
	return nil
}

// see makes the store's last commit the state that searches read documents
// from. The caller holds mu exclusively, or is the only user.
func (e *Engine) see() error {
	v, err := e.st.Snapshot()
	if err != nil {
		return err
	}
	if e.view != nil {
		e.view.Close()
	}
	e.view = v
	return nil
}

// toHNSW replaces the flat index by a graph once the corpus has outgrown it.
func (e *Engine) toHNSW(ctx context.Context) error {
	e.kind = "hnsw"
	idx, err := index.New(e.kind, e.indexOptions())
	if err != nil {
		return err
	}
	b := bulk{idx: idx}
	err = e.st.Scan(ctx, 0, func(ord uint64, v []float32, _ []int32) error { return b.add(ord, v, nil) })
	if err == nil {
		err = b.flush()
	}
	if err != nil {
		e.kind = "flat"
		return fmt.Errorf("building the graph index: %w", err)
	}
	e.idx = idx
	return nil
}

// replay applies the change log after the derived state's commit.
func (e *Engine) replay(ctx context.Context) error {
	var seq uint64
	var block []change
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		err := e.applyChanges(ctx, seq, block)
		block = block[:0]
		return err
	}
	err := e.st.Log(ctx, e.seq, func(s uint64, c store.Change) error {
		if s != seq {
			if err := flush(); err != nil {
				return err
			}
			seq = s
		}
		ch := change{Change: c}
		if c.New != 0 {
			var err error
			if ch.vector, ch.tokens, err = e.st.Row(c.New); err != nil {
				return err
			}
		}
		block = append(block, ch)
		return nil
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	e.seq = e.st.Seq()
	return nil
}

func (e *Engine) derivedPath(kind string) string {
	return filepath.Join(e.dir, derivedDir, kind+".snap")
}

// loadDerived reads both snapshots and replays the log after them.
func (e *Engine) loadDerived(ctx context.Context) error {
	var idx index.Index
	seqI, err := e.readSnapshot(e.kind, func(data []byte) (err error) {
		idx, err = index.Load(e.kind, e.indexOptions(), data)
		return err
	})
	if err != nil {
		return err
	}
	sums := modulate.NewSums(e.fp.Dim, e.fp.VocabSize)
	seqS, err := e.readSnapshot(kindSums, func(data []byte) error {
		_, err := sums.ReadFrom(bytes.NewReader(data))
		return err
	})
	if err != nil {
		return err
	}
	if seqI != seqS || seqI > e.st.Seq() {
		return fmt.Errorf("snapshots of commits %d and %d in a store at %d", seqI, seqS, e.st.Seq())
	}
	e.idx, e.sums, e.seq, e.saved, e.pending = idx, sums, seqI, seqI, 0
	if err := e.replay(ctx); err != nil {
		return err
	}
	if n := e.st.Len(); idx.Len() != n || sums.Len() != n {
		return fmt.Errorf("index of %d and sums of %d passages for %d documents", idx.Len(), sums.Len(), n)
	}
	return nil
}

// readSnapshot hands the data of one snapshot file to read.
func (e *Engine) readSnapshot(kind string, read func(data []byte) error) (seq uint64, err error) {
	s, err := store.OpenSnapshot(e.derivedPath(kind), kind, derivedVersion, e.st.Manifest().UUID)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := read(s.Data); err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Base(e.derivedPath(kind)), err)
	}
	return s.Seq, nil
}

// saveIfDue saves the derived state when enough has changed since. Unsynced
// commits may be lost to a power cut and their numbers used again, so with
// NoSync only Close, which syncs first, saves.
func (e *Engine) saveIfDue(ctx context.Context) error {
	if e.o.NoSync || e.pending < max(saveAfter, e.st.Len()/4) {
		return nil
	}
	return e.saveDerived(ctx)
}

// saveDerived writes both snapshots and lets the store forget what they no
// longer need. The caller holds apply or is the only user.
func (e *Engine) saveDerived(ctx context.Context) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.pending == 0 && e.saved == e.seq {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(e.dir, derivedDir), 0o755); err != nil {
		return err
	}
	write := func(kind string, f func(io.Writer) (int64, error)) error {
		h := store.SnapshotHeader{Kind: kind, Version: derivedVersion, Seq: e.seq, UUID: e.st.Manifest().UUID}
		return store.WriteSnapshot(e.derivedPath(kind), h, func(w io.Writer) error { _, err := f(w); return err })
	}
	if err := write(e.kind, e.idx.(index.Snapshotter).WriteTo); err != nil {
		return fmt.Errorf("saving the index: %w", err)
	}
	if err := write(kindSums, e.sums.WriteTo); err != nil {
		return fmt.Errorf("saving the sums: %w", err)
	}
	e.saved, e.pending = e.seq, 0
	return e.st.Compact(ctx, e.seq)
}

// timer collects the steps of a trace.
type timer struct {
	steps []Step
	last  time.Time
}

func newTimer() *timer { return &timer{last: time.Now(), steps: make([]Step, 0, 5)} }

func (t *timer) done(name string) {
	now := time.Now()
	t.steps = append(t.steps, Step{name, now.Sub(t.last)})
	t.last = now
}
