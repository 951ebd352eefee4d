// Package private gives files and folders to their owner alone, since they hold the contents of documents.
// Start with [MkdirAll] for a new folder, or [Tighten] for one that exists. Tighten follows no link and
// touches no file of others.
package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File and Folder are the modes of what is made. No umask widens them.
const (
	File   fs.FileMode = 0o600
	Folder fs.FileMode = 0o700
)

// others is what other users may do.
const others fs.FileMode = 0o077

// MkdirAll makes a folder that is its owner's alone. One that is there stays as it is. Those
// above it, which are made where they are missing, may be looked into.
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

// Ours says what of a folder is a program's own. The zero value is a folder of which nothing but itself is.
type Ours struct {
	Files   func(name string) bool // nil means none
	Folders map[string]Ours
	Shared  bool // the folder itself is not
}

// Named is a choice of files that have these names, or these endings, which begin with a dot.
func Named(names ...string) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return name == n || n[0] == '.' && strings.HasSuffix(name, n) })
	}
}

// Tighten makes dir, its folders that are ours, and their files that are ours, the
// owner's alone, where that is the user of this process. It follows no link but dir, and
// touches neither what is not there nor what is no folder or file. A medium that keeps no modes, or
// cannot be written, stays as it is.
func Tighten(dir string, ours Ours) error { return tighten(dir, ours) }
