package share_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/share"
)

func filledShare(t *testing.T, dir string, n int) *engine.Engine {
	t.Helper()
	e := opened(t, dir, encoder.NewHash(dim), engine.Options{})
	if _, err := e.Upsert(t.Context(), documents(n)); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestNobody: where nobody shares a database Open says so, and touches nothing.
func TestNobody(t *testing.T) {
	dir := t.TempDir()
	if _, err := share.Open(t.Context(), dir); !errors.Is(err, share.ErrNoHolder) {
		t.Error(err)
	}
	if _, err := share.Open(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, share.ErrNoHolder) {
		t.Error(err)
	}
}

// TestHolder: who holds is told, and the socket is its owner's alone and goes with the
// sharing.
func TestHolder(t *testing.T) {
	for _, mode := range []fs.FileMode{0o700, 0o755, 0o750} {
		dir := t.TempDir()
		e := filledShare(t, dir, 3)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		s := shared(t, e, dir, share.Options{Command: "lexsem test", Model: "hash-48"})
		info, err := os.Lstat(filepath.Join(dir, "socket"))
		if err != nil || info.Mode()&fs.ModeSocket == 0 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		h, other := asked(t, dir).Holder()
		if !other || h.PID != os.Getpid() || h.Command != "lexsem test" || h.Model != "hash-48" || time.Since(h.Since) > time.Minute {
			t.Errorf("%+v", h)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "socket")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	}
}

// TestLongPath: a path that is longer than a socket's may be is no hindrance, and leaves
// nothing behind.
func TestLongPath(t *testing.T) {
	base := t.TempDir()
	runtimeDir := filepath.Join(base, "run")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	dir := base
	for len(dir) < 220 {
		dir = filepath.Join(dir, strings.Repeat("long", 10))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := filledShare(t, dir, 3)
	s := shared(t, e, dir, share.Options{})
	if n, err := asked(t, dir).Count(t.Context(), engine.Filter{}); n != 3 || err != nil {
		t.Error(n, err)
	}
	for _, folder := range []string{runtimeDir, os.TempDir()} {
		left, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range left {
			if strings.HasPrefix(f.Name(), "lexsem-") && folder == runtimeDir {
				t.Errorf("%s is left in %s", f.Name(), folder)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStaleSocket: a socket that a killed process left is nobody, and makes room; what is
// no socket stays as it is, and is neither followed nor taken for a holder.
func TestStaleSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "socket")
	e := filledShare(t, dir, 3)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := share.Open(t.Context(), dir); !errors.Is(err, share.ErrNoHolder) {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("one who does not hold the database has removed the socket: %v", err)
	}
	s := shared(t, e, dir, share.Options{})
	asked(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := share.Share(e, dir, share.Options{}); err == nil || !strings.Contains(err.Error(), "is left as it is") {
		t.Error(err)
	}
	if raw, err := os.ReadFile(path); string(raw) != "somebody's" {
		t.Errorf("%q, %v", raw, err)
	}
	if _, err := share.Open(t.Context(), dir); !errors.Is(err, share.ErrNoHolder) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	other := t.TempDir()
	theirs := shared(t, filledShare(t, other, 1), other, share.Options{})
	defer theirs.Close()
	if err := os.Symlink(filepath.Join(other, "socket"), path); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	if _, err := share.Open(t.Context(), dir); !errors.Is(err, share.ErrNoHolder) {
		t.Errorf("a link was followed: %v", err)
	}
	if _, err := share.Share(e, dir, share.Options{}); err == nil {
		t.Error("a link was replaced")
	}
	if _, err := os.Readlink(path); err != nil {
		t.Error(err)
	}
	asked(t, other)
}

// TestCloseLeavesOthers: a socket that is not the one that was made stays.
func TestCloseLeavesOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "socket")
	s := shared(t, filledShare(t, dir, 1), dir, share.Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
