package index

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for large pages within b, of memory or of a mapped file: what Linux reads from disk
// would lie in small ones. It is advice: a kernel without them refuses, and nothing but speed depends on it.
func adviseHuge(b []byte) {
	if len(b) == 0 {
		return
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	skip := int((pageHuge - at%pageHuge) % pageHuge)
	if n := (len(b) - skip) &^ (pageHuge - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
