// Package private restricts files and folders to their owner, since they hold the contents of documents.
// Start with [MkdirAll] for a new folder, or [Tighten] for an existing one; [Exposed] examines a file. Tighten follows no link and
// does not touch files of other owners.
package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File and Folder are the modes of new files and folders. A umask cannot widen them.
const (
	File   fs.FileMode = 0o600
	Folder fs.FileMode = 0o700
)

// others are the permissions of other users.
const others fs.FileMode = 0o077

// MkdirAll creates a folder that only its owner can use. An existing folder is not changed. Missing
// parents are created; others can read them.
func MkdirAll(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(dir, Folder)
	if info, e := os.Stat(dir); errors.Is(err, fs.ErrExist) && e == nil && info.IsDir() {
		return nil
	}
	return err
}

// Ours says which parts of a folder belong to a program. The zero value means that only the folder
// itself belongs to it.
type Ours struct {
	Files   func(name string) bool // files that belong to it, by name; nil means none
	Folders map[string]Ours
	Shared  bool // the folder itself does not belong to the program
}

// Named selects files by name, or by ending if the name begins with a dot.
func Named(names ...string) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return name == n || n[0] == '.' && strings.HasSuffix(name, n) })
	}
}

// Tighten removes the access of other users to dir, and to its folders and files that belong to the
// program, if this user owns them. It follows no link except dir itself, and ignores everything that is
// missing or is neither folder nor file. A medium without modes, or a read-only one, is not changed.
func Tighten(dir string, ours Ours) error { return tighten(dir, ours) }
