//go:build unix

package store

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// badgerLocks reports whether Badger locks its folder itself.
const badgerLocks = false

// readOnlyDisk reports whether err comes from a disk that is mounted read-only.
func readOnlyDisk(err error) bool { return errors.Is(err, unix.EROFS) }

// fileBytes is the disk space of a file; files with holes take less than their length.
func fileBytes(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
