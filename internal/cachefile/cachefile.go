// Package cachefile knows the names of the files in a folder of vector caches (encoder.Cache), and bounds their bytes.
// Start with [Files]. A file that another process has open for writing is never removed.
package cachefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/filelock"
	"github.com/lexsem/lexsem/internal/private"
)

// Suffixes of the files of a cache, after the digest of its encoder.
const (
	Vectors = ".vectors"
	States  = ".states"
)

// Lock is the file that a process locks to write the cache files of an encoder with that digest.
func Lock(dir, digest string) string { return filepath.Join(dir, digest+Vectors+".lock") }

// File is the file of one encoder's vectors or token states in a folder of caches.
type File struct {
	Path   string
	Bytes  int64
	Used   time.Time // when it was last opened for writing, or written to
	States bool      // it holds token states
}

// digest is the digest of the encoder.
func (f File) digest() string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.Path), Vectors), States)
}

// Files returns the files in a folder of caches, most recently used first. A missing folder
// has no caches.
func Files(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		states := strings.HasSuffix(e.Name(), States)
		if !states && !strings.HasSuffix(e.Name(), Vectors) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, File{filepath.Join(dir, e.Name()), info.Size(), info.ModTime(), states})
	}
	slices.SortStableFunc(files, func(a, b File) int { return b.Used.Compare(a.Used) })
	return files, nil
}

// Trim bounds the caches of other encoders than own, a digest, in a folder: their vectors take at most max bytes, their
// token states at most maxStates. It removes the least recently used files first. Files of own stay, except its token
// states if maxStates is 0. A file that another process has open for writing also stays, and its size counts.
func Trim(dir, own string, max, maxStates int64) error {
	files, err := Files(dir)
	if err != nil {
		return err
	}
	left := map[bool]int64{false: max, true: maxStates}
	for _, f := range files {
		if f.digest() == own && !(f.States && maxStates == 0) {
			continue
		}
		if left[f.States] -= f.Bytes; left[f.States] >= 0 {
			continue
		}
		removed, err := f.remove()
		if err != nil {
			return err
		}
		if removed {
			left[f.States] += f.Bytes
		}
	}
	return nil
}

// remove removes a file of a Cache unless another process writes it.
func (f File) remove() (removed bool, err error) {
	lock, err := os.OpenFile(Lock(filepath.Dir(f.Path), f.digest()), os.O_RDWR|os.O_CREATE, private.File)
	if err != nil {
		return false, err
	}
	switch err := filelock.Try(lock, true); {
	case errors.Is(err, filelock.ErrHeld) || errors.Is(err, errors.ErrUnsupported):
		return false, lock.Close()
	case err != nil:
		return false, errors.Join(err, lock.Close())
	}
	err = os.Remove(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err == nil, errors.Join(err, filelock.Release(lock))
}
