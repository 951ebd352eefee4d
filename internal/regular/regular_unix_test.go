//go:build unix

package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(at("file"), []byte("text"), 0o644),
		os.Symlink("file", at("link")),
		os.Symlink("/dev/zero", at("endless")),
		os.Mkdir(at("folder"), 0o755),
		syscall.Mkfifo(at("pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(10*time.Second, func() { panic("still waiting") })
	defer late.Stop()
	for name, want := range map[string]error{
		"file": nil, "link": nil, "endless": ErrIrregular, "folder": ErrIrregular, "pipe": ErrIrregular, "nothing": fs.ErrNotExist,
	} {
		f, err := Open(at(name))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err != nil {
			continue
		}
		if b, err := io.ReadAll(f); err != nil || string(b) != "text" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		f.Close()
	}
	if b, err := ReadFile(at("file"), 4); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFile(at("file"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}
