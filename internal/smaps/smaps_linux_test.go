package smaps

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestResident: what was read of a mapped file counts, what was not and other files do not.
func TestResident(t *testing.T) {
	const size = 4 << 20
	path := filepath.Join(t.TempDir(), "with a blank: and a colon:")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	of := func(path string) uint64 {
		t.Helper()
		n, err := Resident(func(p string) bool { return p == path })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := of(path); n != 0 {
		t.Errorf("%d bytes before any was read", n)
	}
	sum := byte(0)
	for i := 0; i < size; i += 4096 {
		sum |= b[i]
	}
	if n := of(path); n != size || sum != 0 {
		t.Errorf("%d bytes of %d that were read", n, size)
	}
	if n := of(filepath.Dir(path)); n != 0 {
		t.Errorf("%d bytes of another path", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n := of(path); n != 0 {
		t.Errorf("%d bytes of a file that was removed", n)
	}
}

// TestHuge: a mapping counts as a whole once large pages are asked for in it, and not before.
func TestHuge(t *testing.T) {
	const size = 4 << 20
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	for _, want := range []uint64{0, size / 2} {
		if n, err := Huge(func(p string) bool { return p == path }); err != nil || n != want {
			t.Errorf("%d bytes, %v, want %d", n, err, want)
		}
		if err := unix.Madvise(b[:size/2], unix.MADV_HUGEPAGE); err != nil {
			t.Skip("this kernel has no large pages to ask for: ", err)
		}
	}
}
