//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func tryLock(f *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errHeld
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// readOnlyDisk says that err comes of a disk that is mounted without the right to
// write.
func readOnlyDisk(err error) bool { return errors.Is(err, unix.EROFS) }

// fileBytes is what a file takes on disk; files with holes take less than
// their length.
func fileBytes(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
