package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// saveAfter is the minimum number of changes after which a running engine saves its derived state. In larger
// databases a quarter must have changed: of the documents, so the cost of saving stays a constant share of adding;
// or of the links, so a kill loses at most a quarter of the building of a graph.
const saveAfter = 20_000

// replacedAfter is how many changes must have been made to save an index for the memory of its vectors: where single
// documents are replaced here and there, a quarter of the vectors soon lies in memory and not in the file.
const replacedAfter = saveAfter / 4

// enough is the number of changes among n after which a running engine saves.
func enough(n int) int { return max(saveAfter, n/4) }

// saveDue reports whether there were enough changes, in number or in bytes. Unsynced commits may be lost to a
// power cut, so with NoSync only Close and Compact save. The caller holds turn.
func (d *DB) saveDue(v *store.View) (bool, error) {
	if d.o.NoSync || d.o.ReadOnly {
		return false, nil
	}
	if d.unsaved || d.pending >= enough(v.Len()) || d.links.Load() >= int64(enough(d.now.Chunks())) {
		return true, nil
	}
	if d.pending == 0 {
		return false, nil
	}
	if x := d.now.Vectors; mapped(x.Kind) && d.pending >= replacedAfter && x.Unmapped() >= enough(x.Len()) && !unsavedVectors(x.Kind, v) {
		return true, nil
	}
	return heavy(v)
}

func (d *DB) saveIfDue(ctx context.Context, s *State) (bool, error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	due, err := d.saveDue(s.View)
	d.turn.unlock()
	if !due {
		return false, err
	}
	return true, d.save(ctx)
}

// In a large database Close does not save a few changes: replaying or linking them at the next opening costs
// less than writing everything.
const (
	largeDocuments = 50_000
	littleChanges  = 500
	littleLinks    = 20 // of so many chunks one is linked in about the time in which all are written: .4 ms and 17 µs at 384 dimensions
)

// little says that. Nobody else uses d.
func (d *DB) little() bool {
	return d.saved > 0 && !d.unsaved && d.fewLinks() && d.now.View.Len() >= largeDocuments && d.pending <= littleChanges
}

// fewLinks reports whether making links again is faster than writing everything. The caller holds turn.
func (d *DB) fewLinks() bool {
	return d.links.Load() <= int64(min(saveAfter, d.now.Chunks()/littleLinks))
}

// save writes snapshots of all parts at the present state, while searches and commits go on, and lets the
// store drop records that they no longer need. If a part cannot be read, its snapshot is removed.
func (d *DB) save(ctx context.Context) error {
	if err := d.turn.lock(ctx); err != nil {
		return err
	}
	if d.pending == 0 && d.saved == d.now.Seq && !d.unsaved && d.fewLinks() {
		d.turn.unlock()
		return nil
	}
	ref, pending, unsaved, links := d.cell.Acquire(), d.pending, d.unsaved, d.links.Load()
	d.unsaved = false
	d.turn.unlock()
	defer ref.Release()
	s := ref.Value
	if err := d.saveAll(ctx, s); err != nil {
		if lock := d.turn.lock(context.Background()); lock == nil {
			d.unsaved = d.unsaved || unsaved
			d.turn.unlock()
		}
		return err
	}
	oldest := s.Seq
	if s.Local != nil {
		oldest = min(oldest, s.LocalSeq)
	}
	if err := d.turn.lock(ctx); err != nil {
		return err
	}
	d.pending -= pending
	d.links.Add(-links)
	d.saved = oldest
	d.turn.unlock()
	if err := d.st.Compact(ctx, oldest); err != nil {
		return err
	}
	waste, err := wasteful(s.View)
	if waste {
		d.compactWanted.Store(true)
	}
	return err
}

// SmallRecords is the size of the records up to which the exact index and cheap sums of RLR are not saved, and the other
// parts are packed: to make or unpack them takes some milliseconds, and they would be most of a small database. Tests of
// saved and mapped ones set it.
var SmallRecords uint64 = 16 << 20

func small(v *store.View) bool {
	live, _, _, err := v.Space()
	return err == nil && live <= SmallRecords
}

// unsavedVectors reports whether an index of that kind is made of the records at each opening.
func unsavedVectors(kind string, v *store.View) bool { return kind == index.KindFlatInt8 && small(v) }

// unsavedSums reports whether the sums of RLR, of so many chunks, are made of the records at each opening.
func (d *DB) unsavedSums(v *store.View, chunks int) bool {
	return ridge.Cheap(chunks, d.o.Dim) && small(v)
}

// saveAll writes the snapshots of s.
func (d *DB) saveAll(ctx context.Context, s *State) error {
	if err := d.st.Replaced(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(d.o.Dir, folder), private.Folder); err != nil {
		return err
	}
	type file struct {
		kind string
		seq  uint64
		save func(w *snapshot.Writer) error
	}
	var mark index.Mark
	files := []file{
		{fileLive, s.Seq, func(w *snapshot.Writer) error { saveLive(w, s.Live); return nil }},
		{fileWords, s.Seq, s.Words.Save},
		{fileColumns, s.Seq, s.Columns.Save},
	}
	saved := s.Vectors.Kind
	if unsavedVectors(saved, s.View) {
		saved = ""
	} else {
		files = append(files, file{saved, s.Seq, func(w *snapshot.Writer) (err error) {
			mark, err = s.Vectors.Index.SaveMarked(w)
			return err
		}})
	}
	unsaved := !s.Metric.Directions() || d.unsavedSums(s.View, s.Sums.Len())
	if !unsaved {
		files = append(files, file{fileSums, s.Seq, s.Sums.Save})
	}
	if d.st.BasisCount() > 0 {
		files = append(files, file{fileTokens, s.Seq, func(w *snapshot.Writer) error { return s.Tokens.Save(w, s.Sees) }})
	}
	if d.o.Impacts != "" {
		files = append(files, file{fileImpacts, s.Seq, s.Impacts.Save})
	}
	if s.Local != nil {
		files = append(files, file{fileLocal, s.LocalSeq, s.Local.Save})
	}
	for i, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.maintainer.report("save", i, len(files))
		history, ok, err := s.View.HistoryAt(f.seq)
		if err == nil && !ok {
			err = errors.New("its commit is not known any more")
		}
		if err == nil {
			h := snapshot.Header{Kind: f.kind, Version: version, Seq: f.seq, Database: d.st.Manifest().UUID, History: history}
			save := func(w *snapshot.Writer) error {
				w.Begin(sectionState)
				w.U64(s.Limit)
				return guarded(func() error { return f.save(w) })
			}
			packed, part := small(s.View), parts(0)
			switch {
			case f.kind == s.Vectors.Kind && mapped(f.kind):
				part = vectors
			case f.kind == fileWords && snapshot.Maps && !packed:
				part = words
			}
			var open *snapshot.File
			switch {
			case part != 0:
				if open, err = snapshot.WriteOpen(d.path(f.kind), h, save); err == nil {
					d.keep(part, &written{s.Vectors, mark, s.Words, open})
				}
			case packed:
				err = snapshot.WritePacked(d.path(f.kind), h, save)
			default:
				err = snapshot.Write(d.path(f.kind), h, save)
			}
		}
		if Damaged(err) { // the next opening makes the part anew
			d.warn("a damaged part of the derived state is not saved", "part", f.kind, "reason", err)
			if err = os.Remove(d.path(f.kind)); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("saving %s: %w", f.kind, err)
		}
	}
	old := append(index.Kinds(), "metadata") // of an earlier kind of index, or version
	if unsaved {
		old = append(old, fileSums)
	}
	for _, kind := range old {
		if kind == saved {
			continue
		}
		if err := d.removeOwn(d.path(kind)); err != nil {
			return err
		}
	}
	return d.dropBlocks()
}

// removeOwn removes a snapshot of this database, whatever its format.
func (d *DB) removeOwn(path string) error {
	of, err := snapshot.DatabaseOf(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, snapshot.ErrDamaged) || errors.Is(err, snapshot.ErrForeign) {
		return nil
	}
	if err != nil || of != d.st.Manifest().UUID {
		return err
	}
	return os.Remove(path)
}
