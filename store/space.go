package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// DiskBytes returns what all files below the folder take on disk.
func (s *Store) DiskBytes() (int64, error) {
	var sum int64
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // compaction removes tables meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		sum += fileBytes(info)
		return nil
	})
	return sum, err
}

// checkSpace refuses writes while the disk could fill up before Badger has
// flushed what it holds: it writes through memory maps of files with holes,
// and a full disk would then end the process with a fault instead of an error.
func (s *Store) checkSpace() error { return checkSpace(s.dir, s.o) }

func checkSpace(dir string, o Options) error {
	free, err := freeBytes(dir)
	if err != nil {
		return err
	}
	if need := 6 * uint64(o.memtableBytes()); free < need {
		return fmt.Errorf("%w: %d MiB are free below %s, %d MiB are needed", ErrNoSpace, free>>20, dir, need>>20)
	}
	return nil
}
