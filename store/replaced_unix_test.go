//go:build unix

package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A database that takes the place of a removed or moved one gets nothing of what the old store still has.
func TestReplaced(t *testing.T) {
	for name, away := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"moved":   func(dir string) error { return os.Rename(dir, dir+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			old := open(t, dir, Options{})
			add(t, old, doc("a", 1))
			if err := old.Replaced(); err != nil {
				t.Fatal(err)
			}
			if err := away(dir); err != nil {
				t.Fatal(err)
			}
			if err := old.Replaced(); !errors.Is(err, ErrReplaced) {
				t.Errorf("without a folder: %v", err)
			}
			next := open(t, dir, Options{})
			add(t, next, doc("b", 1))
			if err := next.Close(); err != nil {
				t.Fatal(err)
			}
			want := contents(t, dir)
			if _, err := old.Begin(ctx); !errors.Is(err, ErrReplaced) {
				t.Errorf("a batch: %v", err)
			}
			if err := old.Writable(ctx); !errors.Is(err, ErrReplaced) {
				t.Errorf("writable: %v", err)
			}
			if err := old.Close(); !errors.Is(err, ErrReplaced) {
				t.Errorf("close: %v", err)
			}
			if !maps.Equal(contents(t, dir), want) {
				t.Error("the new database is another")
			}
			if s, err := Open(dir, Options{}); err != nil {
				t.Error(err)
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// inside is what a folder has, by names in it, without its lock.
func inside(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	for path, text := range contents(t, dir) {
		if name := strings.TrimPrefix(path, dir); name != "/LOCK" {
			out[name] = text
		}
	}
	return out
}

// A backup that is restored into the folder of an open store, file by file, stays as it is.
func TestReplacedInPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	s := open(t, dir, Options{})
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	saved := dir + ".saved"
	if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	want := inside(t, saved)
	s = open(t, dir, Options{})
	add(t, s, doc("b", 1))
	for path := range contents(t, dir) { // as rsync --delete does it
		if path, ok := strings.CutSuffix(path, "/"); ok {
			continue
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(dir, os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(ctx); !errors.Is(err, ErrReplaced) {
		t.Errorf("a batch: %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrReplaced) {
		t.Errorf("close: %v", err)
	}
	if got := inside(t, dir); !maps.Equal(got, want) {
		t.Errorf("the restored database is another: %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 1 {
		t.Errorf("%d documents", s.Len())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A store whose folder was moved, where nothing took its place, closes: the folder can be opened where it is now.
func TestClosedWhereMoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	s := open(t, dir, Options{})
	add(t, s, doc("a", 1))
	if err := os.Rename(dir, dir+".new"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); !errors.Is(err, ErrReplaced) || errors.Is(err, os.ErrNotExist) {
			t.Errorf("close: %v", err)
		}
	}
	moved := open(t, dir+".new", Options{})
	if moved.Len() != 1 {
		t.Errorf("%d documents where it is now", moved.Len())
	}
}
