//go:build (amd64 || arm64) && !purego

package vec

import "unsafe"

//go:noescape
func prefetch(a unsafe.Pointer, bytes int)

//go:noescape
func prefetchRows(rows **int8, n, bytes int)
