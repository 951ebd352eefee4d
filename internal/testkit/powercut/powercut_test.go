//go:build linux

package powercut

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

const envMount = "LEXSEM_POWERCUT_MOUNT" // where a child is to write

func TestMain(m *testing.M) {
	if mount := os.Getenv(envMount); mount != "" {
		if err := child(mount); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes files of 40 pages in different ways.
func child(mount string) error {
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	file := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(mount, name), os.O_RDWR|os.O_CREATE, 0o644)
		try(err)
		return f
	}
	folder, err := os.Open(mount)
	try(err)

	f := file("unsynced")
	_, err = f.Write(pages(1))
	try(errors.Join(err, f.Close()))

	f = file("synced")
	_, err = f.Write(pages(2))
	try(errors.Join(err, f.Sync(), f.Close()))
	Mark(mount, "synced")

	f = file("mapped")
	try(f.Truncate(40 * pageSize))
	m, err := unix.Mmap(int(f.Fd()), 0, 40*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	try(err)
	copy(m, pages(3))
	try(unix.Msync(m, unix.MS_SYNC))
	try(folder.Sync())
	Mark(mount, "mapped")
	copy(m[pageSize:], pages(4)[:20*pageSize])
	try(errors.Join(unix.Munmap(m), f.Close()))

	f = file("synced") // cut, named otherwise, and read again
	try(errors.Join(f.Truncate(100), f.Close(), os.Rename(filepath.Join(mount, "synced"), filepath.Join(mount, "renamed"))))
	got, err := os.ReadFile(filepath.Join(mount, "renamed"))
	if try(err); string(got) != string(pages(2)[:100]) {
		try(fmt.Errorf("%d bytes are read after the cut", len(got)))
	}
	try(os.Mkdir(filepath.Join(mount, "sub"), 0o755))
	f = file("sub/x")
	try(f.Close())
	try(os.Remove(filepath.Join(mount, "unsynced")))
	return errors.Join(append(errs, folder.Close())...)
}

func pages(of byte) []byte { return slices.Repeat([]byte{of}, 40*pageSize) }

// TestCut: what was synced is there after each cut, whole; of what was not there
// is all, nothing and some, after one cut or another.
func TestCut(t *testing.T) {
	d, mount := MountFor(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envMount+"="+mount)
	out, err := cmd.CombinedOutput()
	if err := errors.Join(err, d.Unmount()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]bool{}
	r := d.Replay()
	for at := range r.Len() + 1 {
		r.To(at)
		synced, mapped := slices.Contains(r.Marks(), "synced"), slices.Contains(r.Marks(), "mapped")
		for round := range 20 {
			dir := filepath.Join(t.TempDir(), "d")
			if err := r.Cut(dir, rand.New(rand.NewPCG(uint64(at), uint64(round)))); err != nil {
				t.Fatal(err)
			}
			read := func(name string) (string, bool) {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				return string(b), err == nil
			}
			// A renamed file has one of its names, and was whole, or is the beginning.
			a, first := read("synced")
			b, second := read("renamed")
			whole := a+b == string(pages(2)) || a+b == string(pages(2)[:100])
			if first && second || synced && !whole {
				t.Fatalf("at %d the synced file has %d and %d bytes", at, len(a), len(b))
			}
			seen[fmt.Sprint("renamed ", second)] = true
			if !synced && !whole && a != "" {
				seen["a torn file"] = true
			}
			if c, _ := read("mapped"); mapped {
				if len(c) != 40*pageSize || c[:pageSize] != string(pages(3)[:pageSize]) || c[21*pageSize:] != string(pages(3)[:19*pageSize]) {
					t.Fatalf("at %d of the mapped file %d bytes are there", at, len(c))
				}
				seen[fmt.Sprint("second write ", c[pageSize], " ", c[20*pageSize])] = true
			}
			if u, ok := read("unsynced"); mapped {
				seen[fmt.Sprint("unsynced ", ok, u == string(pages(1)), u == "")] = true
			}
			_, ok := read("sub/x")
			seen[strconv.FormatBool(ok)] = true
		}
	}
	for _, want := range []string{"renamed true", "renamed false", "a torn file", "second write 3 3", "second write 4 4", "second write 3 4",
		"unsynced true true false", "unsynced true false false", "unsynced false false true", "true", "false"} {
		if !seen[want] {
			t.Errorf("never seen: %s", want)
		}
	}
}
