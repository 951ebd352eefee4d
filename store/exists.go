package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// A folder is ours if it has the marker, which is the first file of a new database, or a HEAD with a
// slot that begins with our magic. Databases of versions without a marker have such a HEAD, and get the
// marker when they are opened for writing. Nothing is created, locked, changed or removed in any other
// folder with files.
const (
	markerName = "LEXSEM"
	markerText = "This folder is a lexsem database.\n"
)

// Folder is the folder of a database. Its methods need no open Store.
type Folder string

// Exists reports whether the folder holds a database. It does not open, lock or create anything. The result is
// false for a folder that is missing or empty, or that has only files from the first moments of a
// database. Errors: *foreignError for a folder with other files; an error if it is a file.
func (f Folder) Exists() (bool, error) {
	dir := string(f)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, fmt.Errorf("%s is a file, but a database is a folder; name its folder or a new one", dir)
	}
	for {
		ours, err := isOurs(dir)
		if err != nil {
			return false, err
		}
		if ours {
			break
		}
		foreign := checkEmpty(dir)
		if errors.Is(foreign, fs.ErrNotExist) {
			return false, nil
		}
		var other *foreignError
		if !errors.As(foreign, &other) {
			return false, foreign
		}
		// The file may be of a database that others make or remove meanwhile.
		if ours, err = isOurs(dir); err != nil {
			return false, err
		}
		if _, err = os.Lstat(filepath.Join(dir, other.Name)); !ours && !errors.Is(err, fs.ErrNotExist) {
			return false, foreign
		}
	}
	for _, name := range []string{headName, recordsName, swapName} {
		switch _, err := os.Stat(filepath.Join(dir, name)); {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, err
		}
	}
	return false, nil
}

// Within returns the folder of the database of which this folder is a part: itself, one above it, or "" for none. Links are followed.
func (f Folder) Within() (string, error) {
	dir, err := filepath.Abs(string(f))
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil { // else whoever writes there says why
		dir = real
	}
	for {
		if ours, err := Folder(dir).Exists(); ours && err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// isOurs looks for the marker and for HEAD. The marker counts if its beginning is right: a process may
// have died while it wrote it, and a person may create an empty one for a database that has lost its
// HEAD. A marker of zeros also counts: after a power cut a disk may have the length of a file without
// its bytes.
func isOurs(dir string) (bool, error) {
	b, ok, err := beginning(filepath.Join(dir, markerName), 0, len(markerText)+1)
	begun := strings.HasPrefix(markerText, string(b[:min(len(b), len(markerText))]))
	zeros := len(b) <= len(markerText) && strings.Trim(string(b), "\x00") == ""
	if err != nil || ok && (begun || zeros) {
		return err == nil, err
	}
	for slot := range int64(2) {
		b, _, err := beginning(filepath.Join(dir, headName), slot*headSlot, len(headMagic))
		if err != nil || string(b) == headMagic {
			return err == nil, err
		}
	}
	return false, nil
}

// beginning reads up to n bytes of a regular file. ok is false if there is no such file.
func beginning(path string, at int64, n int) (b []byte, ok bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	b, err = io.ReadAll(io.NewSectionReader(f, at, int64(n)))
	return b, true, err
}

// checkEmpty returns a *foreignError if a folder without marker and HEAD has anything except a lock and
// entries of the file system.
func checkEmpty(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(16)
		for _, e := range entries {
			free, err := isFree(dir, e)
			if err != nil {
				return err
			}
			if !free {
				_, err := os.Stat(filepath.Join(dir, recordsName, badger.ManifestFilename))
				return &foreignError{Dir: dir, Name: e.Name(), records: err == nil}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isFree reports whether an entry of a folder does not prevent a new database there: a mounted disk's
// lost+found, the collections of an earlier database, or the lock of a process that died before it
// created anything else.
func isFree(dir string, e fs.DirEntry) (bool, error) {
	if (e.Name() == "lost+found" || e.Name() == collectionsName) && e.IsDir() {
		return true, nil
	}
	if e.Name() != lockName {
		return false, nil
	}
	b, ok, err := beginning(filepath.Join(dir, lockName), 0, 32)
	return ok && len(b) < 32 && strings.Trim(string(b), "0123456789\n") == "", err
}

// claim creates the folder, which only its owner can use, and puts the marker into it. The caller must
// know from Exists that this is allowed.
func claim(dir string) error {
	if parent := filepath.Dir(dir); filepath.Base(parent) == collectionsName {
		if err := private.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := private.MkdirAll(dir); err != nil {
		return err
	}
	if err := private.Tighten(dir, private.Ours{}); err != nil { // one that was there
		return err
	}
	hit("folder")
	path := filepath.Join(dir, markerName)
	if b, ok, err := beginning(path, 0, len(markerText)); err != nil || ok && string(b) == markerText {
		return err
	}
	f, err := regular.OpenOwn(path, os.O_WRONLY|os.O_CREATE, private.File)
	if err != nil {
		return misplaced(path, err)
	}
	hit("marker")
	_, err = f.WriteString(markerText)
	return errors.Join(err, f.Sync(), f.Close())
}
