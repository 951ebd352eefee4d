package vec

import "unsafe"

// Prefetch asks the CPU to load the start of a non-empty slice into its cache, and does not wait. It
// helps if the rows to compare are known before the first one is read.
func Prefetch[T any](a []T, bytes int) { prefetch(unsafe.Pointer(&a[0]), bytes) }

// PrefetchRows is Prefetch for the start of each row. Rows must not be empty.
func PrefetchRows(rows []*int8, bytes int) {
	if len(rows) > 0 {
		prefetchRows(&rows[0], len(rows), bytes)
	}
}
