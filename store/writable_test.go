package store

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// TestWritable: a database says whether a write would succeed, and writes a file for that at most every few seconds.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	if err := s.Writable(ctx); err != nil {
		t.Fatal(err)
	}
	probed := s.probe.at
	if err := s.Writable(ctx); err != nil || s.probe.at != probed {
		t.Errorf("%v; probed again after %v", err, s.probe.at.Sub(probed))
	}
	entries, err := os.ReadDir(s.records())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if temporary.MatchString(e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
	// The answer before does not hold for a folder that is not there.
	moved := s.records() + ".moved"
	if err := os.Rename(s.records(), moved); err != nil {
		t.Fatal(err)
	}
	want := ErrReplaced
	if s.recordsLock == nil { // Windows keeps a folder with open files, Wine does not
		s.probe.at, want = time.Now().Add(-probeEvery), os.ErrNotExist
	}
	if err := s.Writable(ctx); !errors.Is(err, want) {
		t.Errorf("no folder: %v", err)
	}
	if err := os.Rename(moved, s.records()); err != nil {
		t.Fatal(err)
	}
	s.probe.at = time.Time{}
	if err := s.Writable(ctx); err != nil {
		t.Errorf("the folder is back: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Writable(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	s.fail(errors.New("a cause"))
	if err := s.Writable(ctx); !errors.Is(err, ErrFailed) {
		t.Errorf("after a failure: %v", err)
	}
	s.failed.Store(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Writable(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	r := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	if err := r.Writable(ctx); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
}
