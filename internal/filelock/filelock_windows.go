package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// at is the byte that is locked. It is far after the end of the contents, so that others
// can read them.
var at = windows.Overlapped{OffsetHigh: 1}

func try(f *os.File, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	o := at
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &o)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}

func unlock(f *os.File) error {
	o := at
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &o)
}
