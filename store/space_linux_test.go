package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiskFull fills a small file system: writes end in ErrNoSpace, never in a
// fault, and go on when there is room again; nothing acknowledged is lost.
func TestDiskFull(t *testing.T) {
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=192m"); err != nil {
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	defer func() {
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 40<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(mount, "db")
	s := open(t, dir, small)
	n := 0
	fill := func() error {
		for ; ; n++ {
			b, err := s.Begin(ctx)
			if err != nil {
				return err
			}
			d := doc(fmt.Sprint(n), n)
			d.Text = strings.Repeat(fmt.Sprint(n, " "), 100_000)
			_, err = b.Put(ctx, d)
			if err == nil {
				_, err = b.Commit(ctx)
			}
			if err != nil {
				return errors.Join(err, b.Discard())
			}
		}
	}
	if err := fill(); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("after %d documents: %v", n, err)
	}
	if n == 0 {
		t.Fatal("nothing could be written")
	}
	full := n
	if s.Len() != n {
		t.Errorf("%d documents, %d acknowledged", s.Len(), n)
	}
	if err := s.SetManifest(ctx, func(m *Manifest) error { return nil }); !errors.Is(err, ErrNoSpace) {
		t.Errorf("set manifest: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := fill(); !errors.Is(err, ErrNoSpace) || n == full {
		t.Errorf("after making room, %d documents more: %v", n-full, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents, then %d", full, n-full)
	r := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	if rep, err := r.Verify(ctx, nil); err != nil || rep.Documents != n {
		t.Errorf("verify: %+v %v, want %d documents", rep, err, n)
	}
	r.Close()
	// A full disk is no damage.
	if err := os.WriteFile(ballast, make([]byte, 20<<20), 0o644); err == nil {
		if _, err := Open(dir, small); !errors.Is(err, ErrNoSpace) {
			t.Errorf("open on a full disk: %v", err)
		}
	}
}
