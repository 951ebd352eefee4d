package index_test

import "github.com/lexsem/lexsem/index"

// ids are n consecutive ids.
func ids(n int, from uint64) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = from + uint64(i)
	}
	return s
}

// common counts the ids that two answers share.
func common(a, b []index.Neighbor) int {
	n := 0
	for _, x := range a {
		for _, y := range b {
			if x.ID == y.ID {
				n++
				break
			}
		}
	}
	return n
}
