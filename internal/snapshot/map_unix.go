//go:build unix

package snapshot

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Maps reports whether Files are memory-mapped, so that their pages can be released.
const Maps = true

// forget advises the system about whole pages within b.
func forget(b []byte) {
	size := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (size - 1)
	if n := (len(b) - skip) &^ (size - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_DONTNEED)
	}
}

// Map returns the whole file as memory and the function that unmaps it. Writing to it
// is not possible, since forget would lose the change. Errors and faults name path.
func Map(path string, f *os.File, size int64) ([]byte, func() error, error) {
	if size == 0 {
		return nil, func() error { return nil }, nil
	}
	if int64(int(size)) != size {
		return nil, nil, &os.PathError{Op: "mmap", Path: path, Err: errors.New("file is larger than the address space")}
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	mappings.add(at, len(b), path)
	return b, func() error {
		mappings.remove(at)
		return unix.Munmap(b)
	}, nil
}
