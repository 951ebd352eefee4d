package bench

import (
	"maps"
	"slices"
)

// sortedByName returns the values of a registry in the order of their keys.
func sortedByName[T any](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
