package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/private"
)

// restoreName is the folder, inside that of the new database, in which a backup is restored.
const restoreName = "restore" + atomicfile.Mark + "0"

// ErrOccupied is returned by Restore if the folder already has a database.
var ErrOccupied = errors.New("folder holds a database already; restore into an empty folder or a new one")

// RestoreOptions are the options of Restore.
type RestoreOptions struct {
	// Parts is the number of parts to restore; 0 means all. Each part is one state.
	Parts int
	// Accept, if not nil, is called with the manifest of each part and the numbers of terms and bases
	// at that state. The function that it returns is called with each document of the part. An error
	// of either refuses the backup.
	Accept func(m *Manifest, terms, bases int) (func(d *Document) error, error)
	// Progress, if not nil, receives the number of documents read. The total is not known.
	Progress func(done int)
}

// RestoreReport says what was restored.
type RestoreReport struct {
	Parts     int
	Seq       uint64 // sequence number of the commit in the last part
	Documents int
}

// Restore makes a database from a backup, in a folder that is empty or does not exist. The database
// appears as a whole, after every digest was checked. If Restore fails, the folder is unchanged. If
// the process dies, at most an unfinished folder is left, which the next Restore or Open removes.
//
// The database has the documents, vocabulary, ordinals, sequence number, manifest and bridges of the
// backup, and a new UUID and history. No file, record or further backup part of the source database
// fits it. Memory: one document, the vocabulary, and the memory of the store.
//
// Errors: *backupError, ErrOccupied, *foreignError, *LockedError, those of ctx, of r, and of the disk.
func Restore(ctx context.Context, dir string, r io.Reader, o RestoreOptions) (rep RestoreReport, err error) {
	if exists, err := Folder(dir).Exists(); err != nil {
		return rep, err
	} else if exists {
		return rep, fmt.Errorf("%s: %w", dir, ErrOccupied)
	}
	t, err := newTrace(dir)
	if err != nil {
		return rep, err
	}
	if err := claim(dir); err != nil {
		return rep, errors.Join(err, t.wipe())
	}
	lock, err := lockDir(dir, false)
	if err != nil {
		if !errors.Is(err, ErrLocked) {
			err = errors.Join(err, t.wipe())
		}
		return rep, err
	}
	shown := false // the records are in their place
	defer func() {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, restoreName)), unlockDir(lock, false))
		if err != nil && !shown {
			err = errors.Join(err, t.wipe())
		}
	}()
	if exists, err := Folder(dir).Exists(); err != nil { // the lock is held now
		return rep, err
	} else if exists {
		shown = true
		return rep, fmt.Errorf("%s: %w", dir, ErrOccupied)
	}
	if err := os.RemoveAll(filepath.Join(dir, restoreName)); err != nil {
		return rep, err
	}
	if rep, err = build(ctx, filepath.Join(dir, restoreName), r, o); err != nil {
		return RestoreReport{}, err
	}
	hit("restore-built")
	shown, err = show(dir)
	return rep, err
}

// show moves the restored files into place. The records come last: with them the folder becomes a
// database. HEAD follows; it is recreated if it is missing.
func show(dir string) (shown bool, err error) {
	built := filepath.Join(dir, restoreName)
	entries, err := entriesOf(filepath.Join(built, bridgesName))
	if err != nil {
		return false, err
	}
	if len(entries) > 0 {
		to := filepath.Join(dir, bridgesName)
		if err := os.MkdirAll(to, private.Folder); err != nil {
			return false, err
		}
		for _, e := range entries {
			if err := os.Rename(filepath.Join(built, bridgesName, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return false, err
			}
			hit("restore-bridge")
		}
		if err := atomicfile.SyncDir(to); err != nil {
			return false, err
		}
	}
	if err := atomicfile.SyncDir(dir); err != nil {
		return false, err
	}
	if err := os.Rename(filepath.Join(built, recordsName), filepath.Join(dir, recordsName)); err != nil {
		return false, err
	}
	hit("restore-shown")
	err = os.Rename(filepath.Join(built, headName), filepath.Join(dir, headName))
	return true, errors.Join(err, atomicfile.SyncDir(dir))
}

// trace remembers the previous content of a folder, so that new files can be removed.
type trace struct {
	dir   string
	made  bool // the folder is not there
	names []string
}

func newTrace(dir string) (*trace, error) {
	entries, err := os.ReadDir(dir)
	t := &trace{dir: dir, made: errors.Is(err, fs.ErrNotExist)}
	if err != nil && !t.made {
		return nil, err
	}
	for _, e := range entries {
		t.names = append(t.names, e.Name())
	}
	return t, nil
}

// wipe removes what Restore has created, and more of a database, except what was there before and the folders above it.
func (t *trace) wipe(more ...string) error {
	var errs []error
	for _, name := range append(more, bridgesName, restoreName, lockName, markerName) {
		if !slices.Contains(t.names, name) {
			errs = append(errs, os.RemoveAll(filepath.Join(t.dir, name)))
		}
	}
	if t.made {
		if err := os.Remove(t.dir); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// build makes a database from a backup, in a folder that does not exist yet.
func build(ctx context.Context, dir string, r io.Reader, o RestoreOptions) (rep RestoreReport, err error) {
	s, err := Open(dir, Options{NoSync: true, MemoryMiB: 64})
	if err != nil {
		return rep, err
	}
	defer func() {
		if err != nil {
			s.fail(err) // so that Close does not read the tables, which are removed now
			err = errors.Join(err, s.Close())
		}
	}()
	if err := os.Mkdir(filepath.Join(dir, bridgesName), private.Folder); err != nil {
		return rep, err
	}
	src := &source{r: r}
	x := &restorer{s: s, src: src, in: partReader{r: src}, o: o, w: s.newStager()}
	err = s.writing(ctx, func() error {
		defer func() { x.w.txn.Discard() }()
		return x.run(ctx)
	})
	if err != nil {
		return rep, err
	}
	hit("restore-finished")
	rep = RestoreReport{Parts: x.part, Seq: x.to.Seq, Documents: int(x.live)}
	if err := s.Close(); err != nil {
		return rep, err
	}
	return rep, errors.Join(atomicfile.SyncDir(filepath.Join(dir, recordsName)), atomicfile.SyncDir(filepath.Join(dir, bridgesName)))
}

// source records the error of a reader, to distinguish it from errors in the data.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
