package folder

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// Entries below a root are opened relative to their open folder, and only if they are still of the
// expected kind. So a link that replaces a file or folder between the check and the opening is not
// followed.

// looked is called between a look at a name and its opening. Tests replace the file there.
var looked = func(dir *os.Root, name string) {}

// openings is the maximum number of times that a name is opened if each gives another
// file.
const openings = 5

var (
	errMoving = errors.New("the file is replaced again and again; run the same command later")
	errNoDir  = errors.New("not a folder, or a link, which is not followed")
)

// openRoot opens a root, which may be a link.
func openRoot(root string) (*os.Root, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // opening a pipe would wait
		return nil, &fs.PathError{Op: "open", Path: root, Err: errNoDir}
	}
	return os.OpenRoot(root)
}

// entriesOf returns the entries of a folder, by name.
func entriesOf(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, errors.Join(err, f.Close())
}

// opened is an open file or folder.
type opened interface{ Close() error }

// openAs opens the entry with a name in dir, if it has the requested kind and is not a link.
func openAs[T opened](dir *os.Root, name string, is func(fs.FileMode) bool, other error, open func(string) (T, error), stat func(T) (fs.FileInfo, error)) (none T, err error) {
	for range openings {
		seen, err := dir.Lstat(name)
		if err != nil {
			return none, err
		}
		if !is(seen.Mode()) {
			return none, &fs.PathError{Op: "open", Path: name, Err: other}
		}
		looked(dir, name)
		f, err := open(name)
		if err != nil {
			now, gone := dir.Lstat(name)
			if gone == nil && (!is(now.Mode()) || !os.SameFile(seen, now)) {
				continue // this was of what came in its place
			}
			return none, err
		}
		now, err := stat(f)
		if err == nil && os.SameFile(seen, now) {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return none, err
		}
	}
	return none, &fs.PathError{Op: "open", Path: name, Err: errMoving}
}

// openDir opens a folder in dir.
func openDir(dir *os.Root, name string) (*os.Root, error) {
	open := func(name string) (*os.Root, error) { return dir.OpenRoot(name + "/.") } // does not wait for a pipe
	return openAs(dir, name, fs.FileMode.IsDir, errNoDir, open, func(r *os.Root) (fs.FileInfo, error) { return r.Stat(".") })
}

// openFile opens a regular file in dir.
func openFile(dir *os.Root, name string) (*os.File, error) {
	open := func(name string) (*os.File, error) { return regular.OpenIn(dir, name) }
	return openAs(dir, name, fs.FileMode.IsRegular, regular.ErrIrregular, open, (*os.File).Stat)
}

// readIn reads a regular file of at most most bytes in dir.
func readIn(dir *os.Root, name string, most int64) ([]byte, error) {
	f, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	b, err := regular.ReadAll(f, most)
	return b, errors.Join(err, f.Close())
}

// openBelow opens the regular file at a path below root.
func openBelow(root *os.Root, name string) (_ *os.File, err error) {
	dir := root
	defer func() {
		if dir != root {
			err = errors.Join(err, dir.Close())
		}
	}()
	parents, base := path.Split(name)
	for part := range strings.SplitSeq(strings.TrimSuffix(parents, "/"), "/") {
		if part == "" {
			continue
		}
		next, err := openDir(dir, part)
		if err != nil {
			return nil, err
		}
		if dir != root {
			err = dir.Close()
		}
		if dir = next; err != nil {
			return nil, err
		}
	}
	return openFile(dir, base)
}
