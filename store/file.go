package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/private"
)

// WriteBridge replaces a file of the folder of bridges atomically: at any moment it has the old or the new contents. It
// makes the folder, writes and syncs a temporary file in it, renames it and syncs the folder. Only the owner can read
// the file. A full disk is ErrNoSpace.
func (f Folder) WriteBridge(name string, data []byte) error {
	dir := filepath.Join(string(f), bridgesName)
	err := os.MkdirAll(dir, private.Folder)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, name), func(f *os.File) error {
			_, err := f.Write(data)
			hit("temporary")
			return err
		})
	}
	if errors.Is(err, syscall.ENOSPC) {
		return systemError(err)
	}
	return err
}

// temporary matches the name of a file that was not yet renamed to its final name.
var temporary = regexp.MustCompile(regexp.QuoteMeta(atomicfile.Mark) + `[0-9]+$`)

// Folders in the folder of a database.
const (
	derivedName = "derived" // snapshots of what is derived
	fitName     = "fit"     // what an interrupted fit goes on from

	collectionsName = "collections" // databases beside this one; the store itself does not look into it
	syncName        = "sync"        // what ingest/folder knew of files when it read them
)

// Collections is the folder, below that of the database, of the databases that are served
// together with it. Each is in the folder of its name.
func (f Folder) Collections() string { return filepath.Join(string(f), collectionsName) }

// removeTemporaries removes temporary files of a dead process from the database's folder and from
// the folders below it that can have them, and the remains of a Restore.
func removeTemporaries(dir string) error {
	for _, folder := range []string{"", recordsName, bridgesName, derivedName, fitName, syncName} {
		folder = filepath.Join(dir, folder)
		entries, err := entriesOf(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if folder == dir && e.Name() == restoreName {
				if err := os.RemoveAll(filepath.Join(dir, restoreName)); err != nil {
					return err
				}
			}
			if !e.Type().IsRegular() || !temporary.MatchString(e.Name()) {
				continue
			}
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// entriesOf lists a folder; a missing one is empty.
func entriesOf(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(dir); there != nil {
			return nil, nil
		}
		err = syscall.ENOTDIR // a link to nothing
	}
	return entries, misplaced(dir, err)
}
