//go:build unix

package folder

import (
	"errors"
	"syscall"
)

// notFolder says that a file stands where a folder did.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
