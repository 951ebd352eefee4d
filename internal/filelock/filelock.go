// Package filelock locks files against other processes and against other open files of this process. Start
// with [Try], which never waits, and [Release]. The system frees a lock when its process dies.
package filelock

import (
	"errors"
	"fmt"
	"os"
)

// ErrHeld is returned by Try if another open file holds the lock.
var ErrHeld = errors.New("lock is held")

// Try locks f, shared or exclusively, without waiting. Errors: ErrHeld and those of the system, which
// name f.
func Try(f *os.File, exclusive bool) error {
	err := try(f, exclusive)
	if err != nil && !errors.Is(err, ErrHeld) {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return err
}

// Release unlocks and closes f, which Try has locked. Closing alone may free the lock late: a process that
// is being started holds a copy of f, and the lock, until its program begins.
func Release(f *os.File) error {
	return errors.Join(unlock(f), f.Close())
}
