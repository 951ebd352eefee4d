package store

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// badgerLocks says that Badger locks its folder: on Windows no folder can be locked, and
// Badger uses its own method.
const badgerLocks = true

// readOnlyDisk reports whether err comes from a write-protected disk.
func readOnlyDisk(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func fileBytes(info fs.FileInfo) int64 { return info.Size() }

func freeBytes(dir string) (uint64, error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, nil, nil)
	return free, err
}
