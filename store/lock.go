package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/internal/filelock"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// lockName is the file whose operating-system lock guards the database, and which holds
// the process id of the writer. A stale file is harmless, since the lock ends with the
// process.
const lockName = "LOCK"

// lockDir takes the database's lock: exclusive for writing, shared for reading. The file
// is nil if no lock is needed.
func lockDir(dir string, readOnly bool) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	var f *os.File
	var err error
	if !readOnly {
		f, err = regular.OpenOwn(path, os.O_RDWR|os.O_CREATE, private.File)
	} else if f, err = regular.Open(path); errors.Is(err, fs.ErrNotExist) { // a copy of a database may come without its lock
		f, err = regular.OpenOwn(path, os.O_RDONLY|os.O_CREATE, private.File)
		if readOnlyDisk(err) { // no one writes there
			return nil, nil
		}
	}
	if err != nil {
		return nil, misplaced(path, err)
	}
	if err := filelock.Try(f, !readOnly); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = &LockedError{Dir: dir, PID: holder(path), here: heldHere(f)}
		}
		f.Close()
		return nil, err
	}
	holds(f, true)
	if readOnly {
		return f, nil
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(err, unlockDir(f, true))
	}
	return f, nil
}

// locks are the locks of this process.
var locks struct {
	sync.Mutex
	files map[*os.File]struct{}
}

func holds(f *os.File, yes bool) {
	locks.Lock()
	defer locks.Unlock()
	if !yes {
		delete(locks.files, f)
		return
	}
	if locks.files == nil {
		locks.files = map[*os.File]struct{}{}
	}
	locks.files[f] = struct{}{}
}

// heldHere reports whether this process holds the lock of a file. Its number does not tell: processes of two containers have the
// same.
func heldHere(f *os.File) bool {
	info, err := f.Stat()
	locks.Lock()
	defer locks.Unlock()
	for h := range locks.files {
		if other, e := h.Stat(); err == nil && e == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// lockBadger takes the lock that Badger would take on its folder, so that other Badger
// programs stay out. Badger releases its own lock by closing the file, which takes effect
// late while this process starts another (filelock.Release). The file is nil if Badger
// itself locks, and for a reader if there is no folder.
func lockBadger(dir string, readOnly bool) (*os.File, error) {
	if badgerLocks {
		return nil, nil
	}
	records := filepath.Join(dir, recordsName)
	if !readOnly {
		if err := os.MkdirAll(records, private.Folder); err != nil { // as Badger does
			return nil, err
		}
	}
	f, err := os.Open(records)
	if err != nil {
		if readOnly && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	if err := filelock.Try(f, !readOnly); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, &LockedError{Dir: dir} // our own lock was removed
		}
		return nil, err
	}
	return f, nil
}

// Replaced is ErrReplaced if the folder of the records or HEAD is not the one that this store opened, else nil: the folder was
// removed or moved, or a copy was restored into it. Where the operating system keeps open files from being removed, it is
// nil.
func (s *Store) Replaced() error {
	if s.recordsLock == nil || s.head == nil || s.o.ReadOnly {
		return nil
	}
	for path, f := range map[string]*os.File{s.records(): s.recordsLock, filepath.Join(s.dir, headName): s.head.f} {
		opened, err := f.Stat()
		if err != nil {
			return err
		}
		if now, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(opened, now) {
			return ErrReplaced
		}
	}
	return nil
}

// unlockDir releases the lock. A writer empties the file first, so that a
// later refusal by readers does not name it.
func unlockDir(f *os.File, readOnly bool) error {
	if f == nil {
		return nil
	}
	var err error
	if !readOnly {
		err = f.Truncate(0)
	}
	holds(f, false)
	return errors.Join(err, filelock.Release(f))
}

// holder reads the process id from a lock file, 0 if there is none.
func holder(path string) int {
	f, err := regular.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
