package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	text := func(s string) func(*os.File) error {
		return func(f *os.File) error { _, err := f.WriteString(s); return err }
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		left, _ := os.ReadDir(dir)
		if err != nil || string(got) != want || len(left) != 1 {
			t.Fatalf("%q, %v among %v; want %q alone", got, err, left, want)
		}
	}
	for _, s := range []string{"first", "second", ""} {
		if err := Write(path, text(s)); err != nil {
			t.Fatal(err)
		}
		holds(s)
	}
	boom := errors.New("boom")
	if err := Write(path, func(f *os.File) error { return errors.Join(text("half")(f), boom) }); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	holds("")
	if err := Write(path, func(f *os.File) error { return f.Close() }); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("a file that write has closed: %v", err)
	}
	holds("")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "folder"), text("x")); err == nil {
		t.Fatal("a folder was replaced")
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Fatalf("left: %v", left)
	}
	if err := Write(filepath.Join(dir, "no", "file"), text("x")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
