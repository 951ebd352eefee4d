//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// openToOthers are the files and folders of a database that other users may do something with.
func openToOthers(t *testing.T, dir string) (open []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, fmt.Sprint(path, " ", info.Mode()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// TestFilesAreTheOwners: Badger's files are, too, from the moment that a write or Flush returns, whatever the umask.
func TestFilesAreTheOwners(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "db")
	s := open(t, dir, small)
	check := func(when string) {
		t.Helper()
		if loose := openToOthers(t, dir); len(loose) > 0 {
			t.Errorf("%s: other users may do something with %v", when, loose)
		}
	}
	check("opened")
	before, err := s.newestLog()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		add(t, s, doc(fmt.Sprint("d", i), 1))
		check("written")
		time.Sleep(2 * clockStep) // the folder's time is old now
		if err := s.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		check("flushed")
	}
	if now, err := s.newestLog(); err != nil || now <= before {
		t.Fatalf("no file has come: %d, %v", now, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed")
	for _, o := range []Options{{ReadOnly: true, MemoryMiB: 64}, small} {
		for _, name := range []string{".", "records", "records/MANIFEST", "records/000001.vlog", "HEAD", "LEXSEM", "LOCK"} {
			if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s = open(t, dir, o)
		check(fmt.Sprintf("opened by %+v", o))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnothersDatabase: a database whose files are another user's opens, and stays as it is.
func TestAnothersDatabase(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		mode := fs.FileMode(0o644)
		if err == nil && d.IsDir() {
			mode = 0o755
		}
		return errors.Join(err, os.Chmod(path, mode), os.Chown(path, 12345, 12345))
	})
	if err != nil {
		t.Fatal(err)
	}
	before := openToOthers(t, dir)
	s = open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	defer s.Close()
	if n, after := s.Len(), openToOthers(t, dir); n != 1 || len(before) < 10 || !slices.Equal(before, after) {
		t.Errorf("%d documents; open before were %v, and are %v", n, before, after)
	}
}
