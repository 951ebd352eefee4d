package encoder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/filelock"
)

// CacheFile is the file of one encoder's vectors in a folder of Caches.
type CacheFile struct {
	Path  string
	Bytes int64
	Used  time.Time // when it was last opened for writing, or written to
}

// CacheFiles are the files in a folder of Caches, those last used first. A folder that
// is not there has none.
func CacheFiles(dir string) ([]CacheFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []CacheFile
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), vectorsSuffix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, CacheFile{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
	}
	slices.SortStableFunc(files, func(a, b CacheFile) int { return b.Used.Compare(a.Used) })
	return files, nil
}

// TrimCaches removes the files of a folder of Caches that were not used for longest,
// until the others of inner's have max bytes at most; that of inner stays. One that
// another process has open for writing stays as well, and counts.
func TrimCaches(dir string, inner Encoder, max int64) error {
	files, err := CacheFiles(dir)
	if err != nil {
		return err
	}
	own := inner.Fingerprint().Digest() + vectorsSuffix
	var sum int64
	for _, f := range files {
		if filepath.Base(f.Path) == own {
			continue
		}
		if sum += f.Bytes; sum <= max {
			continue
		}
		removed, err := removeCache(f.Path)
		if err != nil {
			return err
		}
		if removed {
			sum -= f.Bytes
		}
	}
	return nil
}

// removeCache removes a file of a Cache unless another process writes it.
func removeCache(path string) (removed bool, err error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	switch err := filelock.Try(lock, true); {
	case errors.Is(err, filelock.ErrHeld) || errors.Is(err, errors.ErrUnsupported):
		return false, lock.Close()
	case err != nil:
		return false, errors.Join(err, lock.Close())
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err == nil, errors.Join(err, filelock.Release(lock))
}
