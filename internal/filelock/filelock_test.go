package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestTry: one alone or many together, also among the open files of one process.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, c := range []struct {
		first, second bool // for itself alone
		want          error
	}{
		{true, true, filelock.ErrHeld},
		{true, false, filelock.ErrHeld},
		{false, true, filelock.ErrHeld},
		{false, false, nil},
	} {
		a, b := open(t, path), open(t, path)
		if err := filelock.Try(a, c.first); err != nil {
			t.Fatal(err)
		}
		if err := filelock.Try(b, c.second); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%v then %v: %v, want %v", c.first, c.second, err, c.want)
		}
		b.Close()
		if err := filelock.Release(a); err != nil {
			t.Fatal(err)
		}
		last := open(t, path)
		if err := filelock.Try(last, true); err != nil {
			t.Errorf("after Release: %v", err)
		}
		last.Close()
	}
}
