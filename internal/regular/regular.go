// Package regular opens files of unknown origin. Start with [Open], [OpenIn], [OpenOwn] or [ReadFile]. A pipe or a
// device, which could wait or return bytes for ever, is ErrIrregular. A file longer than the caller allows
// is ErrTooLarge.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrIrregular reports an entry that is neither a regular file nor a link to one.
var ErrIrregular = errors.New("not a regular file")

// ErrTooLarge reports a file that is longer than allowed.
var ErrTooLarge = errors.New("file is too large")

// Open opens a file for reading without waiting. Errors: ErrIrregular, or the operating system's.
func Open(path string) (*os.File, error) {
	return checked(os.OpenFile(path, os.O_RDONLY|noWait, 0))
}

// OpenIn is Open for a path in a folder; no link can lead out of the folder.
func OpenIn(dir *os.Root, name string) (*os.File, error) {
	return checked(dir.OpenFile(name, os.O_RDONLY|noWait, 0))
}

// OpenOwn is os.OpenFile for a file that the program changes or makes: ErrIrregular also for a link, since it may lead to
// a file of somebody else.
func OpenOwn(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
	}
	return checked(os.OpenFile(path, flag|noWait|noFollow, perm))
}

func checked(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrIrregular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a file of at most most bytes. Errors: those of Open, and ErrTooLarge.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most)
}

// ReadAll reads an open file of at most most bytes. Errors: ErrTooLarge, or the operating system's.
func ReadAll(f *os.File, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)}
	}
	return b, nil
}
