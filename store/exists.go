package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Exists reports whether dir holds a database, without opening or locking it.
func Exists(dir string) (bool, error) {
	for _, name := range []string{headName, recordsName} {
		switch _, err := os.Stat(filepath.Join(dir, name)); {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, err
		}
	}
	return false, nil
}
