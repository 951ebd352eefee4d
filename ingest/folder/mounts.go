package folder

import (
	"errors"
	"os"
	"path"
)

// A disk below the root that is not mounted any more leaves an empty folder, or none. Its files are not gone, so its documents stay.

var errUnmounted = errors.New("a disk was mounted here, and is not now; mount it, or remove its documents with --prune-all (PruneAll)")

// disk is the number of the file system of a file. Tests replace it.
var disk = device

// enter goes on with a folder of a disk, and notes the folder if this is another disk; "" goes back.
func (w *walker) enter(disk uint64, name string) {
	if name != "" && disk != w.disk {
		w.mounts = append(w.mounts, name)
	}
	w.disk = disk
}

// unmounted reports whether a folder that was a disk's is gone, or empty and of the disk of the folder above it.
func (w *walker) unmounted(name string) bool {
	now, err := diskOf(w.dir, name)
	if err != nil {
		return gone(err)
	}
	if above, err := diskOf(w.dir, path.Dir(name)); err != nil || now != above {
		return false
	}
	dir, err := openDir(w.dir, name)
	if err != nil {
		return gone(err)
	}
	defer dir.Close()
	entries, err := entriesOf(dir)
	return err == nil && len(entries) == 0
}

// diskOf is the number of the file system of a folder below dir.
func diskOf(dir *os.Root, name string) (uint64, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return 0, err
	}
	return disk(info), nil
}
