//go:build (!amd64 && !arm64) || purego

package vec

import "unsafe"

func prefetch(a unsafe.Pointer, bytes int) {}

func prefetchRows(rows **int8, n, bytes int) {}
