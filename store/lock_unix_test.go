//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/internal/filelock"
)

// TestCloseWithCopies: a process that is being started has a copy of every open
// file for a moment; the database must be free at once all the same.
func TestCloseWithCopies(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	for _, readOnly := range []bool{false, true} {
		if readOnly {
			o := small
			o.ReadOnly = true
			s = open(t, dir, o)
		}
		for _, f := range []*os.File{s.lock, s.recordsLock} {
			inherited, err := unix.Dup(int(f.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(inherited)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, dir, small).Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBadgerIsHeldOff: another program of Badger's holds its folder, with a lock
// of its own and not ours.
func TestBadgerIsHeldOff(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir, small).Close(); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(filepath.Join(dir, recordsName))
	if err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(other, true); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, small)
	if locked := (*LockedError)(nil); !errors.As(err, &locked) {
		t.Fatalf("%v, want a LockedError", err)
	}
	if err := filelock.Release(other); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, small)
	defer s.Close()
	if other, err = os.Open(filepath.Join(dir, recordsName)); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := filelock.Try(other, true); !errors.Is(err, filelock.ErrHeld) {
		t.Fatalf("the folder of a database in use: %v, want it held", err)
	}
}

// TestLockedNamesWho: another Store of this process, a process of the same number elsewhere, or another process.
func TestLockedNamesWho(t *testing.T) {
	for _, how := range [][2]bool{{false, false}, {false, true}, {true, false}} { // read-only: the first, the second
		dir := t.TempDir()
		s := open(t, dir, small)
		if how[0] {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, Options{ReadOnly: true})
		}
		_, err := Open(dir, Options{ReadOnly: how[1]})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "already open in this process") {
			t.Errorf("%v: %v", how, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for pid, want := range map[int]string{os.Getpid(): "another container", os.Getppid(): fmt.Sprintf("process %d;", os.Getppid()), 0: "another process"} {
			path := filepath.Join(dir, lockName)
			if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", pid), 0o600); err != nil {
				t.Fatal(err)
			}
			other, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := filelock.Try(other, true); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{ReadOnly: how[1]}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), want) {
				t.Errorf("held by %d: %v, want %q", pid, err, want)
			}
			if err := filelock.Release(other); err != nil {
				t.Fatal(err)
			}
		}
		open(t, dir, small).Close()
	}
}
