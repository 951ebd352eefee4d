package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// WriteFileAtomic writes a file so that path holds the old contents or the
// new, whatever happens: a temporary file beside it is written, synced and
// renamed, and the folder synced. The folder must exist.
func WriteFileAtomic(path string, data []byte) error {
	return atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(data)
		hit("temporary")
		return errors.Join(err, f.Chmod(0o644))
	})
}

// removeTemporaries removes what writers of whole files in a
// process that died have left in the database's folder and the folders in it.
// Folders that it may not read, such as lost+found, are not the database's.
func removeTemporaries(dir string) error {
	dir, err := filepath.EvalSymlinks(dir) // a walk does not enter a link
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir && errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			rel, err := filepath.Rel(dir, path)
			if err == nil && (rel == recordsName || strings.ContainsRune(rel, filepath.Separator)) {
				return fs.SkipDir
			}
			return err
		}
		if strings.Contains(d.Name(), atomicfile.Mark) {
			return os.Remove(path)
		}
		return nil
	})
}
