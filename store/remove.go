package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/private"
)

// removedPrefix begins the temporary name, in the same parent folder, of a folder that is being removed.
const removedPrefix = ".removed-"

// Remove removes a database, its folder and everything in it. Other processes see the whole database
// or none: the folder is renamed first. If the process dies, ClearRemoved removes the rest. Errors:
// ErrNotFound if there is no database, *foreignError for a folder with other files, *LockedError if
// the database is open.
func (f Folder) Remove() error {
	dir, err := fault.Folder(string(f))
	if err != nil {
		return err
	}
	if ok, err := Folder(dir).Exists(); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("database %s: %w", dir, ErrNotFound)
	}
	lock, err := lockDir(dir, false)
	if err != nil {
		return err
	}
	if err := claim(dir); err != nil { // by which ClearRemoved knows it
		return errors.Join(err, unlockDir(lock, false))
	}
	parent := filepath.Dir(dir)
	out, err := os.MkdirTemp(parent, removedPrefix)
	if err != nil {
		return errors.Join(err, unlockDir(lock, false))
	}
	to := filepath.Join(out, filepath.Base(dir))
	if runtime.GOOS == "windows" { // where a folder with an open file keeps its name
		err = unlockDir(lock, false)
		lock = nil
	}
	if err == nil {
		err = os.Rename(dir, to)
	}
	if err != nil {
		return errors.Join(err, unlockDir(lock, false), os.Remove(out))
	}
	err = atomicfile.SyncDir(parent)
	return errors.Join(err, unlockDir(lock, false), removeMarkerLast(to), os.RemoveAll(out))
}

// removeMarkerLast removes everything in the folder of a database except its marker, which the caller
// removes last.
func removeMarkerLast(dir string) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if e.Name() != markerName {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	hit("removed")
	return errors.Join(errs...)
}

// Create makes a database in the folder, which must not exist: make gets the name of a folder next to it, which is
// renamed after make has returned nil. Other processes see the whole database or none. If the process
// dies, ClearRemoved removes the rest. Errors: those of make and of the file system; fs.ErrExist if another
// process has made the folder meanwhile.
func (f Folder) Create(make func(dir string) error) (err error) {
	dir := string(f)
	parent := filepath.Dir(dir)
	if err := private.MkdirAll(parent); err != nil {
		return err
	}
	in, err := os.MkdirTemp(parent, removedPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(in)) }()
	made := filepath.Join(in, filepath.Base(dir))
	if err := make(made); err != nil {
		return err
	}
	hit("created")
	if err := os.Rename(made, dir); err != nil {
		if _, e := os.Lstat(dir); e == nil {
			err = fmt.Errorf("%w: %w", fs.ErrExist, err)
		}
		return err
	}
	return atomicfile.SyncDir(parent)
}

// ClearRemoved removes the remains of processes that died in Remove or Create from a folder of databases. It does
// nothing if the folder does not exist, and leaves folders that a process is working on.
func (f Folder) ClearRemoved() error {
	parent := string(f)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), removedPrefix) {
			continue
		}
		left := filepath.Join(parent, e.Name())
		ours, err := onlyOurs(left)
		if err == nil && ours {
			err = os.RemoveAll(left)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, err)...)
}

// onlyOurs reports whether a folder has nothing but folders of databases that no process has open.
func onlyOurs(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return false, nil
		}
		inner := filepath.Join(dir, e.Name())
		ours, err := isOurs(inner)
		if err != nil || !ours {
			return false, err
		}
		lock, err := lockDir(inner, false)
		if _, ok := errors.AsType[*LockedError](err); ok {
			return false, nil
		}
		if err == nil {
			err = unlockDir(lock, false)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
