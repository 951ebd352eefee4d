package local

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A lookup finds all that its list has where it is, and nothing else, of lists of any length
// and density.
func TestLookup(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 1))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 300, 5000, 1<<16 - 1, 1 << 16, 70_000} {
		for _, gap := range []uint32{1, 2, 50, 1 << 14} {
			list, next := make([]uint32, n), r.Uint32N(gap)
			for i := range list {
				list[i] = next
				next += 1 + r.Uint32N(gap)
			}
			l := lookupOf(list)
			if len(l.first) > buckets+1 {
				t.Fatalf("%d numbers have %d buckets", n, len(l.first))
			}
			for range 2000 {
				want := r.Uint32N(next + gap)
				if n > 0 && r.IntN(2) == 0 {
					want = list[r.IntN(n)]
				}
				at, there := slices.BinarySearch(list, want)
				got, ok := l.find(want)
				if ok != there || ok && got != at {
					t.Fatalf("%d of %d numbers: at %d, %v; it is at %d, %v", want, n, got, ok, at, there)
				}
			}
		}
	}
}
