//go:build unix

package folder

import (
	"errors"
	"syscall"
)

// notFolder reports whether a file has replaced a folder.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
