//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Something else in the place of a file or folder of a database makes a call wait for nothing and touch nothing of it:
// the call succeeds, or its error names it and the remedy. Once it is gone the database has all its documents.
func TestMisplaced(t *testing.T) {
	mine := func(path string) error { return os.WriteFile(path, []byte("somebody's text"), 0o600) }
	kinds := map[string]func(path, outside string) error{
		"folder": func(path, _ string) error {
			return errors.Join(os.Mkdir(path, 0o700), mine(filepath.Join(path, "mine")))
		},
		"link":            func(path, outside string) error { return os.Symlink(outside, path) },
		"link to nothing": func(path, outside string) error { return os.Symlink(outside+"-not", path) },
		"pipe":            func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
	}
	calls := map[string]func(dir string) error{
		"open": func(dir string) error {
			s, err := Open(dir, small)
			if err != nil {
				return err
			}
			return s.Close()
		},
		"open to read": func(dir string) error {
			s, err := Open(dir, Options{ReadOnly: true})
			if err != nil {
				return err
			}
			return s.Close()
		},
		"remove": func(dir string) error { return Folder(dir).Remove() },
	}
	whole := filepath.Join(t.TempDir(), "db")
	s := open(t, whole, small)
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for kind, make := range kinds {
		for _, name := range []string{markerName, lockName, reserveName, headName, recordsName, derivedName, bridgesName} {
			for what, call := range calls {
				t.Run(fmt.Sprint(kind, " ", name, " ", what), func(t *testing.T) {
					top := t.TempDir()
					dir, outside := filepath.Join(top, "db"), filepath.Join(top, "outside")
					if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), mine(outside)); err != nil {
						t.Fatal(err)
					}
					path, kept := filepath.Join(dir, name), filepath.Join(top, "kept")
					had := os.Rename(path, kept) == nil
					if err := make(path, outside); err != nil {
						t.Fatal(err)
					}
					done := newDone(func() error { return call(dir) })
					var err error
					select {
					case err = <-done:
					case <-time.After(time.Minute):
						t.Fatal("the call waits")
					}
					if err != nil && !(strings.Contains(err.Error(), path) && strings.Contains(err.Error(), "move it elsewhere") && errors.Is(err, ErrForeign)) && !errors.Is(err, ErrCorrupt) {
						t.Errorf("%v", err)
					}
					if b, err := os.ReadFile(outside); string(b) != "somebody's text" {
						t.Errorf("the file that a link leads to has %q, %v", b, err)
					}
					if _, there := os.Lstat(outside + "-not"); there == nil {
						t.Error("a link to nothing leads to a new file")
					}
					if what == "remove" && err == nil {
						if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
							t.Errorf("it is left: %v", err)
						}
						return
					}
					if b, err := os.ReadFile(filepath.Join(path, "mine")); kind == "folder" && string(b) != "somebody's text" {
						t.Errorf("the file in the folder has %q, %v", b, err)
					}
					if err := os.RemoveAll(path); err != nil {
						t.Fatal(err)
					}
					if had {
						if err := os.Rename(kept, path); err != nil {
							t.Fatal(err)
						}
					}
					s := open(t, dir, small)
					if s.Len() != 1 || find(t, s, "a") == nil {
						t.Errorf("%d documents afterwards", s.Len())
					}
				})
			}
		}
	}
}

func newDone(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}
