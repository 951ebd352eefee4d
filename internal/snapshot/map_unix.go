//go:build unix

package snapshot

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile returns the whole file as memory and the function that gives it back.
// What is written there never reaches the file.
func mapFile(f *os.File, size int64) ([]byte, func() error, error) {
	if size == 0 {
		return nil, func() error { return nil }, nil
	}
	if int64(int(size)) != size {
		return nil, nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: errors.New("file is larger than the address space")}
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	mappings.add(at, len(b), f.Name())
	return b, func() error {
		mappings.remove(at)
		return unix.Munmap(b)
	}, nil
}
