package store

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// badgerLocks says that Badger locks its folder itself: no folder can be locked
// here, and Badger locks in its own way.
const badgerLocks = true

// readOnlyDisk says that err comes of a disk that takes no writes.
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
