package store

import (
	"bufio"
	"errors"
	"io"
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
	return writeAtomic(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func writeAtomic(path string, write func(io.Writer) error) error {
	return atomicfile.Write(path, func(f *os.File) error {
		if err := f.Chmod(0o644); err != nil {
			return err
		}
		buf := bufio.NewWriterSize(f, 1<<20)
		if err := write(buf); err != nil {
			return err
		}
		if err := buf.Flush(); err != nil {
			return err
		}
		hit("temporary")
		return nil
	})
}

// removeTemporaries removes what WriteFileAtomic and WriteSnapshot of a
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
