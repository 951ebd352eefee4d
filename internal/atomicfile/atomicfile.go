// Package atomicfile replaces files as a whole or not at all. Start with [Write]: it writes a temporary file
// in the same folder, syncs it and renames it. A crash at any point leaves the old file or the new one.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Mark is part of the names of temporary files, which a killed process may leave.
const Mark = ".lexsem-tmp-"

// Write replaces the file at path by the output of write, or leaves it unchanged. It writes and syncs a
// temporary file in the same folder, renames it, and syncs the folder if the system can. The folder must
// exist. Only the owner can read the file, unless write changes that.
func Write(path string, write func(f *os.File) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+Mark+"*")
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
		if info, e := os.Lstat(path); err != nil && e == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder where a file belongs; move it elsewhere and try again: %w", path, err)
		}
	}
	if err != nil {
		if e := os.Remove(f.Name()); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return err
	}
	return SyncDir(dir)
}
