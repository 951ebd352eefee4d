package index

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for large pages within b, which is memory or a mapped file; otherwise Linux would read the
// file into small pages. It is only advice: a kernel without large pages refuses, and only speed depends on
// it.
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
