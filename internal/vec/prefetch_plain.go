//go:build (!amd64 && !arm64) || purego

package vec

import "unsafe"

func prefetch4(a, b, c, d unsafe.Pointer, bytes int) {}
