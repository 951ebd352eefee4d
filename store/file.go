package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// WriteFileAtomic replaces a file atomically: path holds the old or the new contents, whatever
// happens. It writes and syncs a temporary file in the same folder, renames it and syncs the folder,
// which must exist. Only the owner can read the file. A full disk is ErrNoSpace.
func WriteFileAtomic(path string, data []byte) error {
	err := atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(data)
		hit("temporary")
		return err
	})
	if errors.Is(err, syscall.ENOSPC) {
		return systemError(err)
	}
	return err
}

// temporary is the name of a file that a writer of whole files has not given its
// own name yet.
var temporary = regexp.MustCompile(regexp.QuoteMeta(atomicfile.Mark) + `[0-9]+$`)

// Folders below that of a database.
const (
	derivedName = "derived" // snapshots of what is derived
	fitName     = "fit"     // what an interrupted fit goes on from

	collectionsName = "collections" // databases beside this one; the store itself does not look into it
	syncName        = "sync"        // what ingest/folder knew of files when it read them
)

// CollectionsDir returns the folder, below the database folder dir, of the databases that are served
// together with it. Each is in the folder of its name.
func CollectionsDir(dir string) string { return filepath.Join(dir, collectionsName) }

// removeTemporaries removes what writers of whole files in a process that died
// have left in the database's folder and in those below it that have such
// writers, and what is left of a Restore.
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

// entriesOf lists a folder: nothing of one that is not there.
func entriesOf(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
