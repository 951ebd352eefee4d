//go:build unix

package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/private"
)

// TestTighten: what is ours becomes its owner's alone, and nothing else is touched.
func TestTighten(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	late := time.AfterFunc(time.Minute, func() { panic("still waiting") })
	defer late.Stop()
	dir, other := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	out := filepath.Join(other, "a.ours")
	if err := errors.Join(
		os.Chmod(dir, 0o777), os.Chmod(other, 0o777), os.WriteFile(out, nil, 0o666),
		os.Mkdir(at("in"), 0o777|fs.ModeSetgid), os.Mkdir(at("in/deep"), 0o777), os.Mkdir(at("theirs"), 0o777), os.Symlink(other, at("linked")),
		os.Symlink(out, at("b.ours")), os.Symlink(out, at("in/c.ours")), syscall.Mkfifo(at("pipe.ours"), 0o666), os.Mkdir(at("folder.ours"), 0o777),
		os.WriteFile(at("a.ours"), nil, 0o666), os.WriteFile(at("read-only.ours"), nil, 0o444), os.WriteFile(at("notes"), nil, 0o666),
		os.WriteFile(at("in/a.ours"), nil, 0o644), os.WriteFile(at("in/deep/a.ours"), nil, 0o640), os.WriteFile(at("theirs/a.ours"), nil, 0o666),
		os.WriteFile(at("in/notes"), nil, 0o666), os.WriteFile(at("folder.ours/a.ours"), nil, 0o666), os.Chmod(at("in"), 0o777|fs.ModeSetgid),
	); err != nil {
		t.Fatal(err)
	}
	files := private.Named(".ours")
	want := map[string]fs.FileMode{
		".": 0o700, "a.ours": 0o600, "read-only.ours": 0o400, "notes": 0o666, "pipe.ours": 0o666, "folder.ours": 0o777, "folder.ours/a.ours": 0o666,
		"in": 0o700, "in/a.ours": 0o600, "in/notes": 0o666, "in/deep": 0o777, "in/deep/a.ours": 0o600, "theirs": 0o777, "theirs/a.ours": 0o666,
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.WriteFile(at("of-another.ours"), nil, 0o666), os.Chown(at("of-another.ours"), 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		want["of-another.ours"] = 0o666
	}
	ours := private.Ours{Files: files, Folders: map[string]private.Ours{
		"in":     {Files: files, Folders: map[string]private.Ours{"deep": {Files: files, Shared: true}}},
		"linked": {Files: files}, "none": {Files: files}, "notes": {Files: files},
	}}
	for range 2 {
		if err := private.Tighten(dir, ours); err != nil {
			t.Fatal(err)
		}
		for name, mode := range want {
			if info, err := os.Stat(at(name)); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
			}
		}
		for name, mode := range map[string]fs.FileMode{other: 0o777, out: 0o666} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
				t.Errorf("a link was followed to %s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	if info, err := os.Stat(at("in")); err != nil || info.Mode()&fs.ModeSetgid == 0 {
		t.Errorf("the folder lost its other bits: %v, %v", info.Mode(), err)
	}
	if err := private.Tighten(at("none"), ours); err != nil {
		t.Error(err)
	}
	link := filepath.Join(t.TempDir(), "link") // to a database elsewhere
	if err := errors.Join(os.Symlink(dir, link), os.Chmod(dir, 0o755), private.Tighten(link, ours)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("behind a link that was named: %v, %v", info.Mode(), err)
	}
}

func TestMkdirAll(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(private.MkdirAll(at("a/b/c")), os.Mkdir(at("there"), 0o755), private.MkdirAll(at("there")), os.WriteFile(at("file"), nil, 0o600), os.Symlink("there", at("link")), private.MkdirAll(at("link"))); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"a": 0o755, "a/b": 0o755, "a/b/c": 0o700, "there": 0o755} {
		if info, err := os.Stat(at(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
	for _, name := range []string{"file", "file/a"} {
		if err := private.MkdirAll(at(name)); err == nil {
			t.Errorf("%s is a folder", name)
		}
	}
}

// TestExposed: who else can read or change a file; the group of root's file is the exception, for others than root.
func TestExposed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o700: false, 0o640: true, 0o440: true, 0o604: true, 0o620: true, 0o602: true, 0o610: true} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := private.Exposed(info); got != want {
			t.Errorf("mode %o: %v", mode, got)
		}
	}
	info, err := os.Stat("/etc/passwd") // of root, for all
	if err == nil && !private.Exposed(info) {
		t.Error("a file for all is not exposed")
	}
}
