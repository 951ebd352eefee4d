//go:build unix

package provision

import (
	"os"
	"syscall"
)

// tryLock takes an exclusive lock on f unless another open file holds it.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, nil
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return false, nil
		default:
			return false, err
		}
	}
}
