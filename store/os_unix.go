//go:build unix

package store

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// badgerLocks says that Badger locks its folder itself.
const badgerLocks = false

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
