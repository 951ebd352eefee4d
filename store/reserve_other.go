//go:build !linux

package store

import (
	"errors"
	"os"
)

// allocate is not supported: writing the bytes would cost too much at each opening.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
