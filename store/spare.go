package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// spareExt is appended to the name of a table or log that is set aside.
const spareExt = ".spare"

// setAside renames files that Badger must not see when it opens for writing: tables that its MANIFEST does not list,
// which it would remove, and logs whose content is in tables, which it would read. Usually a dying process leaves such
// tables without needed content; but if the MANIFEST itself has lost its end, they have the documents. Only the state
// record and HEAD can decide this, and they are read after Badger has opened: then removeSpares or returnSpares
// follows.
func setAside(paths []string) error {
	for _, path := range paths {
		if err := os.Rename(path, path+spareExt); err != nil {
			return err
		}
	}
	return nil
}

// strayTables finds the tables that the manifest does not list.
func strayTables(records string, listed map[uint64]badger.TableManifest) (paths []string, err error) {
	entries, err := entriesOf(records)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, ok := table.ParseFileID(e.Name())
		if _, known := listed[id]; ok && !known {
			paths = append(paths, filepath.Join(records, e.Name()))
		}
	}
	return paths, nil
}

// returnSpares restores the names of set-aside files, unless a new file has the name, and counts the tables
// among them.
func returnSpares(records string) (tables int, err error) {
	err = eachSpare(records, func(spare string) error {
		name := trimSpare(spare)
		if _, ok := table.ParseFileID(filepath.Base(name)); ok {
			tables++
		}
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Rename(spare, name)
	})
	return tables, err
}

// trimSpare returns the name of a file before it was set aside.
func trimSpare(name string) string { return strings.TrimSuffix(name, spareExt) }

// removeSpares removes the files that were set aside.
func removeSpares(records string) error { return eachSpare(records, os.Remove) }

func eachSpare(records string, do func(path string) error) error {
	entries, err := entriesOf(records)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := trimSpare(e.Name())
		if _, isTable := table.ParseFileID(name); name != e.Name() && (isTable || isNumbered(name, ".mem")) {
			if err := do(filepath.Join(records, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// countSpares counts the files that were set aside.
func countSpares(records string) (n int, err error) {
	err = eachSpare(records, func(string) error { n++; return nil })
	return n, err
}

// keepSpares closes Badger and restores the names of tables that it does not list, after err has stopped the
// opening. A *CorruptError mentions them.
func (s *Store) keepSpares(err error) error {
	if s.o.ReadOnly {
		return err
	}
	if s.db != nil {
		err = errors.Join(err, s.closeBadger())
	}
	n, e := returnSpares(s.records())
	var c *CorruptError
	if n > 0 && errors.As(err, &c) {
		c.What += fmt.Sprintf("; its MANIFEST does not name %d of the tables, which are kept", n)
	}
	return errors.Join(err, e)
}

// records is the folder that only Badger uses.
func (s *Store) records() string { return filepath.Join(s.dir, recordsName) }
