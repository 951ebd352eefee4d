package index

// resized is s with length n, its contents unspecified; s itself where that has
// room.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
