package vec

import "unsafe"

// Prefetch asks the CPU to bring the first bytes of a slice, which has one
// element or more, into its cache, and does not wait. It helps where the rows
// to compare are known before the first of them is read.
func Prefetch[T any](a []T, bytes int) { prefetch(unsafe.Pointer(&a[0]), bytes) }

// PrefetchRows is Prefetch for the first bytes, one or more, of each row.
func PrefetchRows(rows []*int8, bytes int) {
	if len(rows) > 0 {
		prefetchRows(&rows[0], len(rows), bytes)
	}
}
