//go:build unix

package filelock_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/internal/filelock"
)

// TestReleaseWithCopy: a process that is being started has a copy of every open
// file for a moment; the lock must not stay with it.
func TestReleaseWithCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	if err := filelock.Try(f, true); err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := filelock.Release(f); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(open(t, path), true); err != nil {
		t.Fatal(err)
	}
}
