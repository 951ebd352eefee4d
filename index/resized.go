package index

// resized returns s with length n and undefined content, in the same memory if it
// suffices.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
