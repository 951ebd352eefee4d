package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// lockName is the file whose operating-system lock guards the database, and
// which holds the process id of the writer. A stale file is harmless: the lock
// goes with the process.
const lockName = "LOCK"

// errHeld is what tryLock returns when another holder has the lock.
var errHeld = errors.New("lock is held")

// lockDir takes the database's lock: exclusive for writing, shared for reading.
// The file is nil where none is needed.
func lockDir(dir string, readOnly bool) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	var f *os.File
	var err error
	if !readOnly {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	} else if f, err = regular.Open(path); errors.Is(err, fs.ErrNotExist) { // a copy of a database may come without its lock
		f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
		if readOnlyDisk(err) { // no one writes there
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, !readOnly); err != nil {
		f.Close()
		if errors.Is(err, errHeld) {
			return nil, &LockedError{Dir: dir, PID: holder(path)}
		}
		return nil, err
	}
	if readOnly {
		return f, nil
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
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
	return errors.Join(err, f.Close())
}

// holder reads the process id from a lock file, 0 if there is none.
func holder(path string) int {
	f, err := os.Open(path)
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
