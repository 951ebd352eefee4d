package vec

import "unsafe"

// Prefetch asks the CPU to bring the first bytes of a slice, which has one
// element or more, into its cache, and does not wait. It helps where the rows
// to compare are known before the first of them is read.
func Prefetch[T any](a []T, bytes int) { prefetch(unsafe.Pointer(&a[0]), bytes) }
