//go:build unix

package folder

import (
	"errors"
	"io/fs"
	"syscall"
)

// notFolder reports whether a file has replaced a folder.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// device is the number of the file system of a file.
func device(info fs.FileInfo) uint64 {
	s, _ := info.Sys().(*syscall.Stat_t)
	if s == nil {
		return 0
	}
	return uint64(s.Dev) // its type differs between systems
}
