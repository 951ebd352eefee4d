//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package encoder

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an exclusive lock on f, held until f is closed, and reports
// false where another open file holds it.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}
