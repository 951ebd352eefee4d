package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// folder is the folder of the snapshots, below the database's folder.
const folder = "derived"

// version of the snapshots' layout.
const version = columns.Version

// Names of the snapshots of parts; that of the vectors is named after the index's kind.
const (
	fileLive    = "live"
	fileWords   = "words"
	fileColumns = columns.Kind
	fileSums    = "sums"
	fileLocal   = "local"
	fileTokens  = tokens.Kind
	fileImpacts = "impacts"
)

// pathOf is the path of a part's snapshot, for the database in dir.
func pathOf(dir, kind string) string { return filepath.Join(dir, folder, kind+".snap") }

func (d *DB) path(kind string) string { return pathOf(d.o.Dir, kind) }

// SavedLocal reports whether the saved state of the database in dir has local bridges.
func SavedLocal(dir string) bool {
	_, err := os.Stat(pathOf(dir, fileLocal))
	return err == nil
}

// foreign returns why a snapshot does not belong to a part of this database, or nil.
func foreign(h snapshot.Header, kind string, uuid store.UUID) error {
	switch {
	case h.Kind != kind:
		return fmt.Errorf("snapshot of %q", h.Kind)
	case h.Version != version:
		return fmt.Errorf("snapshot in format %d, this program reads %d", h.Version, version)
	case h.Database != [16]byte(uuid):
		return errors.New("snapshot of another database")
	}
	return nil
}

// read opens the snapshot of a part and returns its commit. It stays mapped until the end, since
// the part reads from it.
func (d *DB) read(v *store.View, kind string, open func(f *snapshot.File, limit uint64) error) (seq uint64, err error) {
	f, err := snapshot.Open(d.path(kind))
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	h := f.Header()
	if err := foreign(h, kind, d.st.Manifest().UUID); err != nil {
		return 0, err
	}
	if h.Seq > v.Seq() {
		return 0, fmt.Errorf("snapshot of commit %d in a store at %d", h.Seq, v.Seq())
	}
	history, ok, err := v.HistoryAt(h.Seq)
	if err != nil {
		return 0, err
	}
	if !ok || history != h.History {
		return 0, fmt.Errorf("snapshot of commit %d of another history", h.Seq)
	}
	s, err := f.Section(sectionState)
	if err != nil {
		return 0, err
	}
	r := s.Reader()
	limit := r.U64()
	if err := r.Err(); err != nil {
		return 0, err
	}
	if err := open(f, limit); err != nil {
		return 0, err
	}
	d.mu.Lock()
	d.mapped = append(d.mapped, f)
	d.mu.Unlock()
	return h.Seq, nil
}

// distrust logs why a snapshot is not used. It logs nothing for a missing one that not every
// database saves: of local bridges, of the vectors and sums of a small one, or of a kind of index that was not requested.
func (d *DB) distrust(v *store.View, kind string, err error) {
	missing := errors.Is(err, fs.ErrNotExist)
	mayLack := kind == fileLocal || d.auto() && kind != index.KindFlatInt8 && d.sized(kind) || unsavedVectors(kind, v) || kind == fileSums && d.unsavedSums(v, v.Len())
	if !missing || !mayLack {
		d.pending = max(d.pending, 1)
	}
	if !missing {
		args := []any{"part", kind, "reason", err}
		if d.o.ReadOnly {
			args = append(args, "remedy", "each reader does it again until a writer keeps it, such as `lexsem compact`")
		}
		d.warn("derived state is made anew from the store", args...)
	}
}

// Sections of the live set, and of every snapshot.
const (
	sectionState = "STATE"
	sectionLive  = "LIVE"
)

func saveLive(w *snapshot.Writer, s cow.Set) {
	w.Begin(sectionLive)
	w.U64(uint64(s.Len()))
	last := uint64(0)
	for ord := range s.All {
		w.Uvarint(ord - last)
		last = ord
	}
}

func openLive(f *snapshot.File) (cow.Set, error) {
	s, err := f.Section(sectionLive)
	if err != nil {
		return cow.Set{}, err
	}
	r := s.Reader()
	n := r.U64()
	if n > uint64(r.Len()) {
		return cow.Set{}, fmt.Errorf("%d ordinals in %d bytes: %w", n, r.Len(), snapshot.ErrDamaged)
	}
	e := cow.Set{}.Edit()
	for ord := uint64(0); n > 0 && r.Err() == nil; n-- {
		if step := r.Uvarint(); step < columns.MaxOrd-ord {
			ord += step
		} else {
			return cow.Set{}, fmt.Errorf("ordinal %d and %d: %w", ord, step, snapshot.ErrDamaged)
		}
		e.Add(ord)
	}
	return e.Done(), r.Err()
}

// IndexAuto is the Options.Index that chooses by size: flat-int8, then what graphKind says.
const IndexAuto = "auto"

// auto reports whether the size determines the kind of the vector index.
func (d *DB) auto() bool { return d.o.Index == "" || d.o.Index == IndexAuto }

// kinds lists the kinds of vector index to look for: the requested one, else a graph and the
// kinds before it. A database that is too old to remember choices may have a snapshot of any
// kind.
func (d *DB) kinds() (all []string) {
	if !d.auto() {
		return []string{d.o.Index}
	}
	for _, kind := range []string{index.KindHNSWFast, index.KindHNSWCompact, index.KindHNSW, index.KindFlat} {
		if of, err := snapshot.DatabaseOf(d.path(kind)); d.o.Index == "" && !d.sized(kind) && err == nil && of == d.st.Manifest().UUID {
			all = append(all, kind)
		}
	}
	if graph, _ := d.graphKind(); graph != index.KindHNSWInt8 {
		all = append(all, graph)
	}
	return append(all, index.KindHNSWInt8, index.KindFlatInt8)
}

// adopt treats a found kind as requested if no size leads to it.
func (d *DB) adopt(kind string) {
	if !d.sized(kind) {
		d.o.Index = kind
	}
}
