package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Exists reports whether dir holds a database, without opening or locking it.
// That dir is a file is an error.
func Exists(dir string) (bool, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return false, fmt.Errorf("%s is a file, where a database is a folder; name its folder, or one that is to be made", dir)
	}
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
