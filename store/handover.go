package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// A new version of a database can be built in a folder below it, and then take its place. The file
// SWAP decides: without it the old database is valid, with it the new one, wherever its parts are at
// that moment. The process that opens the database for writing moves the remaining parts.
const (
	nextName     = "reembed"  // the new database
	swapName     = "SWAP"     // the file that decides
	replacedName = "replaced" // records of the old one, until they are removed
	swapText     = "The database in the folder reembed takes the place of this one.\n"
)

// ErrHandedOver is returned by writes to a database that another one has replaced.
var ErrHandedOver = errors.New("another database has taken its place; open it again")

// Next is the folder, below that of the database, of the database that may replace it.
func (f Folder) Next() string { return filepath.Join(string(f), nextName) }

// HandOver lets the database in Folder.Next replace this one. It calls last while no other write can
// happen; the new database must be closed when last returns. Then HandOver writes the decision to
// disk, in one step. After an error nothing has changed. After nil this store refuses writes and must
// be closed. TakeOver, or the next Open for writing, moves the files. Errors: those of last, of ctx
// before last, and of the disk; an error if Folder.Next holds no complete database.
func (s *Store) HandOver(ctx context.Context, last func() error) error {
	if s.o.InMemory {
		return errors.New("a database in memory has no folder that another could take over")
	}
	return s.writing(ctx, func() (err error) {
		if err := last(); err != nil {
			return err
		}
		next := Folder(s.dir).Next()
		lock, err := s.lockNext(next)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlockDir(lock, false)) }()
		hit("swap-begun")
		err = atomicfile.Write(filepath.Join(s.dir, swapName), func(f *os.File) error {
			_, err := f.WriteString(swapText)
			return err
		})
		if err != nil {
			return err
		}
		hit("swap-decided")
		s.fail(ErrHandedOver)
		return nil
	})
}

// lockNext takes the lock of the database in next, which must be complete.
func (s *Store) lockNext(next string) (*os.File, error) {
	there, err := Folder(next).Exists()
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%s: %w", next, ErrNoDatabase)
	}
	lock, err := lockDir(next, false)
	if err != nil {
		return nil, err
	}
	m, _, marked, _, err := readHead(next)
	if err == nil && !(marked && m.clean) {
		err = fmt.Errorf("%s: %w", next, ErrUnclean)
	}
	if err != nil {
		return nil, errors.Join(err, unlockDir(lock, false))
	}
	return lock, nil
}

// TakeOver moves the database chosen by HandOver into place. Without such a decision it does nothing.
// The database must not be open. Errors: ErrLocked and those of the operating system; the next call
// continues.
func (f Folder) TakeOver() (err error) {
	dir := string(f)
	if there, err := f.Exists(); err != nil || !there {
		return err
	}
	if ok, err := decided(dir); err != nil || !ok {
		return err
	}
	lock, err := lockDir(dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlockDir(lock, false)) }()
	return takeOver(dir)
}

// decided reports whether the database in Folder.Next has replaced the old one.
func decided(dir string) (bool, error) {
	b, err := regular.ReadFile(filepath.Join(dir, swapName), int64(len(swapText)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if string(b) != swapText {
		return false, &CorruptError{Dir: dir, What: "file " + swapName + " was not written by this program"}
	}
	return true, nil
}

// takeOver is TakeOver for a caller that holds the lock. Each step may already have been done.
func takeOver(dir string) error {
	if ok, err := decided(dir); err != nil || !ok {
		return err
	}
	next, replaced := Folder(dir).Next(), filepath.Join(dir, replacedName)
	at := func(name string) string { return filepath.Join(dir, name) }
	waiting, err := exists(filepath.Join(next, recordsName))
	if err != nil {
		return err
	}
	there, err := exists(at(recordsName))
	if err != nil {
		return err
	}
	if waiting && there { // the old one leaves, its records last
		if err := os.MkdirAll(replaced, private.Folder); err != nil {
			return err
		}
		for _, name := range []string{bridgesName, derivedName, fitName, recordsName} {
			if err := move(at(name), filepath.Join(replaced, name)); err != nil {
				return err
			}
		}
		if err := errors.Join(atomicfile.SyncDir(replaced), atomicfile.SyncDir(dir)); err != nil {
			return err
		}
		hit("swap-replaced")
	}
	if waiting { // the new one comes, its records last
		for _, name := range []string{headName, bridgesName, derivedName} {
			if err := move(filepath.Join(next, name), at(name)); err != nil {
				return err
			}
		}
		if err := atomicfile.SyncDir(dir); err != nil {
			return err
		}
		hit("swap-moved")
		if err := move(filepath.Join(next, recordsName), at(recordsName)); err != nil {
			return err
		}
		if err := errors.Join(atomicfile.SyncDir(dir), atomicfile.SyncDir(next)); err != nil {
			return err
		}
		hit("swap-shown")
	} else if !there {
		return &CorruptError{Dir: dir, What: "the records are missing, here and in " + nextName + "; what the database was before lies in " + replacedName}
	}
	if err := errors.Join(os.RemoveAll(next), os.RemoveAll(replaced)); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(dir); err != nil {
		return err
	}
	hit("swap-cleared")
	return errors.Join(os.Remove(at(swapName)), atomicfile.SyncDir(dir))
}

// move moves a file or folder, if it exists, to a place where no other folder may exist.
func move(from, to string) error {
	there, err := exists(from)
	if err != nil || !there {
		return err
	}
	if info, err := os.Lstat(to); err == nil && info.IsDir() {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	return os.Rename(from, to)
}

// DropNext removes the database in Folder.Next, if there is one. Errors: ErrLocked if it is open,
// ErrHandedOver if it has already replaced the other.
func (f Folder) DropNext() error {
	dir, next := string(f), f.Next()
	there, err := exists(next)
	if err != nil || !there {
		return err
	}
	if _, err := Folder(next).Exists(); err != nil { // a folder that is not ours
		return err
	}
	lock, err := lockDir(next, false)
	if err != nil {
		return err
	}
	err = func() error {
		if ok, err := decided(dir); err != nil {
			return err
		} else if ok {
			return fmt.Errorf("%s: %w", dir, ErrHandedOver)
		}
		entries, err := os.ReadDir(next)
		for _, e := range entries {
			if e.Name() != lockName { // which is open
				err = errors.Join(err, os.RemoveAll(filepath.Join(next, e.Name())))
			}
		}
		return err
	}()
	if err := errors.Join(err, unlockDir(lock, false)); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(next), atomicfile.SyncDir(dir))
}
