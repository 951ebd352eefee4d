package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/fault"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/store"
)

// Derived state follows one protocol: a checksummed snapshot file made at some
// commit, then replay of the change log after it. A snapshot that is damaged,
// stale or of another database is rebuilt from the store, never trusted.

const (
	derivedDir     = "derived"
	derivedVersion = 1
	// saveAfter is the least number of changes after which a running engine
	// saves its derived state; beyond it a quarter of the corpus decides, so
	// that saving costs a constant share of adding.
	saveAfter = 20_000
)

// parts lists all derived state. The local bridges stand behind the vectors,
// which they read.
func (e *Engine) parts() []part { return []part{e.vectors, e.sums, e.local, e.words, e.metadata} }

// openDerived brings every part to the store's last commit.
func (e *Engine) openDerived(ctx context.Context) error {
	if err := e.see(); err != nil {
		return err
	}
	seq := e.view.Seq()
	// loaded holds the commit of each part that a snapshot gave.
	loaded, oldest := map[part]uint64{}, seq
	for _, p := range e.parts() {
		at, err := e.readSnapshot(p)
		if err == nil && at > seq {
			err = fmt.Errorf("snapshot of commit %d in a store at %d", at, seq)
		}
		if err != nil {
			e.distrust(p, err)
			continue
		}
		loaded[p] = at
		oldest = min(oldest, at)
	}
	e.saved = oldest
	if err := e.replay(ctx, loaded, oldest); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for p := range loaded {
			e.distrust(p, err)
		}
		clear(loaded)
	}
	var stale []part
	for _, p := range e.parts() {
		if _, ok := loaded[p]; ok {
			if err := e.miscounts(p, loaded); err != nil {
				e.distrust(p, err)
				delete(loaded, p)
			}
		}
		if _, ok := loaded[p]; !ok {
			stale = append(stale, p)
		}
	}
	if len(stale) > 0 {
		if err := e.rebuild(ctx, stale); err != nil {
			return fmt.Errorf("rebuilding derived state of %s: %w", e.dir, err)
		}
	}
	e.seq = seq
	return e.settle()
}

// miscounts says why the number of chunks, or documents, of a part cannot be
// right. Documents are counted by the store; of the chunks it is known that each
// document has one at least, and that all parts have the same.
func (e *Engine) miscounts(p part, loaded map[part]uint64) error {
	documents := e.view.Len()
	if p == part(e.metadata) && p.len() != documents || p.len() < documents || documents == 0 && p.len() > 0 {
		return fmt.Errorf("%d versions for %d documents", p.len(), documents)
	}
	for other := range loaded {
		if p != part(e.metadata) && other != part(e.metadata) && other.len() != p.len() {
			return fmt.Errorf("%d versions, where %s has %d", p.len(), other.kind(), other.len())
		}
	}
	return nil
}

// distrust reports why a snapshot is not used. A missing one needs no word.
func (e *Engine) distrust(p part, err error) {
	e.pending = max(e.pending, 1)
	if !errors.Is(err, os.ErrNotExist) {
		e.warn("rebuilding derived state from the store", "dir", e.dir, "part", p.kind(), "reason", err)
	}
}

// rebuild makes parts anew from the documents of the view.
func (e *Engine) rebuild(ctx context.Context, parts []part) error {
	var fromRows, fromTexts feeder
	for _, p := range parts {
		if err := p.reset(); err != nil {
			return err
		}
		if p.texts() {
			fromTexts.parts = append(fromTexts.parts, p)
		} else {
			fromRows.parts = append(fromRows.parts, p)
		}
	}
	e.pending = max(e.pending, e.view.Len())
	done, total := 0, 0
	for _, f := range []feeder{fromRows, fromTexts} {
		if len(f.parts) > 0 {
			total += e.view.Len()
		}
	}
	step := func() {
		if done++; done%encodeWindow == 0 || done == total {
			e.progress(Progress{Stage: "rebuild", Done: done, Total: total})
		}
	}
	if len(fromRows.parts) > 0 {
		err := e.view.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
			step()
			vs := chunksOfRows(nil, ord, rows)
			for i := range vs {
				vs[i].vector, vs[i].tokens = slices.Clone(vs[i].vector), slices.Clone(vs[i].tokens)
			}
			return fromRows.add(vs...)
		})
		if err != nil {
			return err
		}
	}
	if len(fromTexts.parts) > 0 {
		err := e.view.ScanDocuments(ctx, 0, func(ord uint64, d *store.Document) error {
			step()
			return fromTexts.add(chunksOfText(nil, ord, d)...)
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(fromRows.flush(), fromTexts.flush())
}

// applyChanges brings the derived state from the commit before seq to seq. The
// vector index takes its share beside running searches, under a mask; only the
// rest is done while they wait.
func (e *Engine) applyChanges(seq uint64, changes []change) error {
	var gone []version
	for i := range changes {
		c := &changes[i]
		if err := e.readBefore(c); err != nil {
			return err
		}
		gone = append(gone, c.before...)
	}
	e.setMask(maskNew(changes))
	if err := applyTo([]part{e.vectors}, changes, nil); err != nil {
		return err
	}
	if err := e.advance(seq, changes, gone); err != nil {
		return err
	}
	if e.mask != nil {
		if err := e.vectors.remove(gone); err != nil {
			return err
		}
		e.setMask(nil)
	}
	return nil
}

// advance makes commit seq the state that searches see.
func (e *Engine) advance(seq uint64, changes []change, gone []version) error {
	var others []part
	for _, p := range e.parts() {
		if p != part(e.vectors) {
			others = append(others, p)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := applyTo(others, changes, gone); err != nil {
		return err
	}
	e.mask = maskGone(gone)
	if e.mask != nil && e.vectors.moves() {
		if err := e.vectors.remove(gone); err != nil {
			return err
		}
		e.mask = nil
	}
	for _, c := range changes {
		e.countFresh(c.Change)
	}
	if err := e.see(); err != nil {
		return err
	}
	e.seq = seq
	e.pending += len(changes)
	return nil
}

// readBefore fills in the chunks that a change ended.
func (e *Engine) readBefore(c *change) (err error) {
	if c.Old == 0 {
		return nil
	}
	rows, err := e.st.Rows(c.Old)
	if err != nil {
		return fmt.Errorf("old version of %q: %w", fault.Clip(c.ID), err)
	}
	c.before = chunksOfRows(nil, c.Old, rows)
	return nil
}

// applyTo puts what changes made into parts, and then takes gone out: a batch
// may have made a version and ended it.
func applyTo(parts []part, changes []change, gone []version) error {
	f := feeder{parts: parts}
	for _, c := range changes {
		if c.New != 0 {
			if err := f.add(c.now...); err != nil {
				return err
			}
		}
	}
	if err := f.flush(); err != nil || len(gone) == 0 {
		return err
	}
	for _, p := range parts {
		if err := p.remove(gone); err != nil {
			return err
		}
	}
	return nil
}

// replay applies the change log after commit from to each part that is behind.
func (e *Engine) replay(ctx context.Context, at map[part]uint64, from uint64) error {
	if len(at) == 0 || from == e.view.Seq() {
		return nil
	}
	var seq uint64
	var changes []change
	var gone []version
	flush := func() error {
		var behind []part
		for p, s := range at {
			if s < seq {
				behind = append(behind, p)
			}
		}
		err := applyTo(behind, changes, gone)
		e.pending += len(changes)
		changes, gone = changes[:0], gone[:0]
		return err
	}
	err := e.view.Log(ctx, from, func(s uint64, c store.Change) error {
		if s != seq {
			if err := flush(); err != nil {
				return err
			}
			seq = s
		}
		ch := change{Change: c}
		if err := e.readBefore(&ch); err != nil {
			return err
		}
		if c.New != 0 {
			d, err := e.st.Get(c.New)
			if err != nil {
				return err
			}
			ch.now = chunksOf(c.New, d)
		}
		changes = append(changes, ch)
		gone = append(gone, ch.before...)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
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

// toGraph replaces the exact index by a graph once the corpus has outgrown it.
// Searches go on in the exact index meanwhile, and after an error; writes wait.
func (e *Engine) toGraph(ctx context.Context) error {
	if e.o.Index != "" || e.vectors.name != index.KindFlatInt8 || e.vectors.Len() <= e.graphAbove {
		return nil
	}
	graph := &vectors{name: index.KindHNSWInt8, dim: e.fp.Dim}
	if err := e.rebuild(ctx, []part{graph}); err != nil {
		return fmt.Errorf("building the graph index: %w", err)
	}
	e.mu.Lock()
	e.vectors = graph
	e.mu.Unlock()
	return nil
}

// grown says whether a graph was saved: fewer documents than that of AutoHNSW
// may have more chunks.
func (e *Engine) grown() bool {
	_, err := os.Stat(e.derivedPath(index.KindHNSWInt8))
	return err == nil
}

func (e *Engine) derivedPath(kind string) string {
	return filepath.Join(e.dir, derivedDir, kind+".snap")
}

// readSnapshot loads a part from its file and returns the commit it is at.
func (e *Engine) readSnapshot(p part) (seq uint64, err error) {
	path := e.derivedPath(p.kind())
	s, err := store.OpenSnapshot(path, p.kind(), derivedVersion, e.st.Manifest().UUID)
	if err != nil {
		return 0, err
	}
	if err := p.load(s.Data); err != nil {
		return 0, errors.Join(fmt.Errorf("%s: %w", filepath.Base(path), err), s.Close())
	}
	if p == e.vectors { // it goes on using the file's memory
		e.mapped = append(e.mapped, s)
		return s.Seq, nil
	}
	return s.Seq, s.Close()
}

// unmap gives back the snapshots in use. Nothing may read the vectors any more.
func (e *Engine) unmap() error {
	var errs []error
	for _, s := range e.mapped {
		errs = append(errs, s.Close())
	}
	e.mapped = nil
	return errors.Join(errs...)
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

// saveDerived writes all snapshots and lets the store forget what they no
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
	for _, p := range e.parts() {
		h := store.SnapshotHeader{Kind: p.kind(), Version: derivedVersion, Seq: e.seq, UUID: e.st.Manifest().UUID}
		err := store.WriteSnapshot(e.derivedPath(p.kind()), h, func(w io.Writer) error { _, err := p.save(w); return err })
		if err != nil {
			return fmt.Errorf("saving %s: %w", p.kind(), err)
		}
	}
	for _, kind := range index.Kinds() { // what an earlier kind of index left
		if kind != e.vectors.kind() {
			if err := os.Remove(e.derivedPath(kind)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	e.saved, e.pending = e.seq, 0
	return e.st.Compact(ctx, e.seq)
}
