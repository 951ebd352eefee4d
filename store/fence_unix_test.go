//go:build unix

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/internal/regular"
)

const envFiles = "LEXSEM_STORE_FILES" // how many descriptors a child may have

// limited opens a database for writing and for reading with few descriptors.
func limited(dir string) error {
	n, err := strconv.ParseUint(os.Getenv(envFiles), 10, 64)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return err
	}
	for _, o := range []Options{{ReadOnly: true}, small} {
		s, err := Open(dir, o)
		if err == nil {
			err = s.Close()
		}
		if err != nil && !errors.Is(err, unix.EMFILE) && !errors.Is(err, ErrUnclean) || errors.Is(err, ErrCorrupt) {
			return fmt.Errorf("%d descriptors: %w", n, err)
		}
		fmt.Println("opened", err == nil)
	}
	return nil
}

// TestFewDescriptors opens a database that was not closed, which is the one that
// needs most, with fewer and fewer descriptors: that ends in an error, neither by
// the end of the process nor by waiting for ever.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	killed := t.TempDir()
	p := start(t, "write", killed, "after-commit", 12)
	p.wait(t, 0)
	opened, refused := 0, 0
	for n := 6; n < 60; n += 3 {
		dir := filepath.Join(t.TempDir(), "db")
		copyDir(t, killed, dir)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envChild+"=limited", envDir+"="+dir, fmt.Sprintf("%s=%d", envFiles, n))
		timeout := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		out, err := cmd.CombinedOutput()
		if !timeout.Stop() || err != nil {
			t.Fatalf("%d descriptors: %v\n%s", n, err, out)
		}
		if strings.Count(string(out), "true") > 0 {
			opened++
		} else {
			refused++
		}
	}
	if opened == 0 || refused == 0 {
		t.Errorf("%d opened, %d refused", opened, refused)
	}
}

// pipeFor puts a pipe, which nobody writes to, in the place of a file.
func pipeFor(path string) error {
	return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600))
}

// TestBadgerIsFenced opens databases at which Badger would end the process.
func TestBadgerIsFenced(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(records string) error
		corrupt bool
	}{
		"DISCARD is a folder": {func(r string) error {
			name := filepath.Join(r, discardName)
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o755))
		}, true},
		"DISCARD is huge":          {func(r string) error { return os.Truncate(filepath.Join(r, discardName), 1<<43) }, false},
		"DISCARD is away":          {func(r string) error { return os.Remove(filepath.Join(r, discardName)) }, false},
		"DISCARD is short":         {func(r string) error { return os.Truncate(filepath.Join(r, discardName), 3) }, false},
		"DISCARD is a pipe":        {func(r string) error { return pipeFor(filepath.Join(r, discardName)) }, true},
		"MANIFEST is a pipe":       {func(r string) error { return pipeFor(filepath.Join(r, badger.ManifestFilename)) }, true},
		"HEAD is a pipe":           {func(r string) error { return pipeFor(filepath.Join(filepath.Dir(r), headName)) }, true},
		"a table is a pipe":        {func(r string) error { return pipeFor(filepath.Join(r, "000001.sst")) }, true},
		"a log is a folder":        {func(r string) error { return os.Mkdir(filepath.Join(r, "00009.mem"), 0o755) }, true},
		"records cannot be listed": {func(r string) error { return errors.Join(os.RemoveAll(r), os.WriteFile(r, nil, 0o644)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, small)
			add(t, s, doc("a", 1))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(filepath.Join(dir, recordsName, discardName)); err != nil || info.Size() > 4096 {
				t.Fatalf("a closed database keeps a mebibyte without content: %v, %v", info, err)
			}
			if err := c.change(filepath.Join(dir, recordsName)); err != nil {
				t.Fatal(err)
			}
			patience, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			cmd := exec.CommandContext(patience, os.Args[0])
			cmd.Env = append(os.Environ(), envChild+"=open", envDir+"="+dir)
			out, err := cmd.CombinedOutput()
			if c.corrupt != strings.HasPrefix(string(out), "error:") || c.corrupt != (err != nil) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestPipes: what is a pipe where a database has a file is an error of those that
// only read as well, and nothing that they wait for.
func TestPipes(t *testing.T) {
	late := time.AfterFunc(time.Minute, func() { panic("still waiting") })
	defer late.Stop()
	for _, name := range []string{lockName, headName, filepath.Join(recordsName, badger.ManifestFilename), filepath.Join(recordsName, "000001.sst")} {
		dir := t.TempDir()
		s := open(t, dir, small)
		add(t, s, doc("a", 1))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := pipeFor(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir, Options{ReadOnly: true}); err == nil {
			t.Errorf("%s: opened", name)
			s.Close()
		}
		if damage, err := Folder(dir).Damage(ctx, nil); err == nil && len(damage) == 0 {
			t.Errorf("%s: no damage", name)
		}
	}
	s := open(t, t.TempDir(), small)
	if err := pipeFor(filepath.Join(s.dir, bridgesName, setBridge(t, s, "slr", "a bridge"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(ctx, io.Discard, nil); !errors.Is(err, regular.ErrIrregular) {
		t.Errorf("a bridge: %v", err)
	}
}
