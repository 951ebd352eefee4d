package vec

import "unsafe"

// Prefetch4 asks the CPU to bring the first bytes of four slices, each with
// one element or more, into its cache, and does not wait. It helps where the
// next rows to compare are known before those at hand are done.
func Prefetch4[T any](a, b, c, d []T, bytes int) {
	prefetch4(unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0]), unsafe.Pointer(&d[0]), bytes)
}
