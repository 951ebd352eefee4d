//go:build unix && !(linux || darwin || freebsd)

package store

import "math"

// freeBytes does not know the disk of these systems and lets writes try.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }
