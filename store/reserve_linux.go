package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves n bytes of the disk for a file. Errors: errors.ErrUnsupported if the
// file system cannot do that.
func allocate(f *os.File, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, n)
		if errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
