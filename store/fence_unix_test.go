//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// TestBadgerIsFenced opens databases at which Badger would end the process.
func TestBadgerIsFenced(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(records string) error
		corrupt bool
	}{
		"DISCARD is a folder": {func(r string) error {
			return errors.Join(os.Remove(filepath.Join(r, discardName)), os.Mkdir(filepath.Join(r, discardName), 0o755))
		}, true},
		"DISCARD is huge":  {func(r string) error { return os.Truncate(filepath.Join(r, discardName), 1<<43) }, false},
		"DISCARD is short": {func(r string) error { return os.Truncate(filepath.Join(r, discardName), 3) }, false},
		"DISCARD is away":  {func(r string) error { return os.Remove(filepath.Join(r, discardName)) }, false},
		"DISCARD is a pipe": {func(r string) error {
			os.Remove(filepath.Join(r, discardName))
			return unix.Mkfifo(filepath.Join(r, discardName), 0o600)
		}, true},
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
			if err := c.change(filepath.Join(dir, recordsName)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envChild+"=open", envDir+"="+dir)
			out, err := cmd.CombinedOutput()
			if c.corrupt != strings.HasPrefix(string(out), "error:") || c.corrupt != (err != nil) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
