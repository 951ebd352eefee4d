package index

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for large pages within b. It is advice: a kernel without them
// refuses, and nothing but speed depends on it.
func adviseHuge(b []byte) {
	at := uintptr(unsafe.Pointer(&b[0]))
	skip := int((pageHuge - at%pageHuge) % pageHuge)
	if n := (len(b) - skip) &^ (pageHuge - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
