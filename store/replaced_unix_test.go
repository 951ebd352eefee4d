//go:build unix

package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
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
