package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/lexsem/lexsem/internal/private"
)

// Badger ends the process or waits for ever on some errors during opening: if its file
// DISCARD cannot be opened, if its folder cannot be listed, or if there are no file
// descriptors left. The causes are checked before, so that they become errors.

const (
	discardName  = "DISCARD"
	discardBytes = 4 << 10 // Badger makes a mebibyte, which the kernel would clear at each opening, and takes any size
	// spareFiles is more than the number of files that Badger has open besides tables and
	// logs, temporary ones included.
	spareFiles = 24
)

// fence checks what Badger assumes about a folder of records with the given number of
// listed tables.
func fence(records string, o Options, tables int) error {
	if !o.ReadOnly {
		if err := os.MkdirAll(records, private.Folder); err != nil {
			return err
		}
		if err := makeDiscard(filepath.Join(records, discardName)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(records)
	if err != nil {
		return err
	}
	logs := 0
	for _, e := range entries {
		name := e.Name()
		log := isNumbered(name, ".mem") || isNumbered(name, ".vlog")
		if log {
			logs++
		}
		if fixed := log || isNumbered(name, ".sst") || name == discardName || name == badger.ManifestFilename ||
			name == badger.KeyRegistryFileName; !fixed {
			continue
		}
		info, err := os.Stat(filepath.Join(records, name))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return &CorruptError{Dir: filepath.Dir(records), What: "file " + filepath.Join(recordsName, name) + " is not a file"}
		}
	}
	return checkDescriptors(records, tables+logs+spareFiles)
}

// makeDiscard creates or recreates the file in which Badger counts what is removed from
// its value logs, which are empty.
func makeDiscard(path string) error {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() == discardBytes) {
		if !info.Mode().IsRegular() {
			return nil // fence tells
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, private.File)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(discardBytes), f.Close())
}

// checkDescriptors opens n descriptors and closes them.
func checkDescriptors(path string, n int) (err error) {
	open := make([]*os.File, 0, n)
	defer func() {
		for _, f := range open {
			err = errors.Join(err, f.Close())
		}
	}()
	for range n {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("a database needs %d more file descriptors than there are; raise the limit (ulimit -n): %w", n-len(open), err)
		}
		open = append(open, f)
	}
	return nil
}
