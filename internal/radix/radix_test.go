package radix_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/radix"
)

// TestSort compares with a comparison sort: any lengths, any greatest number, all bits and
// pairs whose lower half ascends.
func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var tmp32 []uint32
	var tmp64 []uint64
	for _, n := range []int{0, 1, 2, 48, 49, 50, 255, 1000, 30_000} {
		for bits := range 33 {
			limit := uint64(1)<<bits - 1
			a, pairs := make([]uint32, n), make([]uint64, n)
			for i := range a {
				a[i] = uint32(r.Uint64() & limit)
				pairs[i] = uint64(a[i])<<32 | uint64(i/3)
			}
			want, wantPairs := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(pairs))
			tmp32 = radix.Sort(a, tmp32, 0, uint32(limit))
			tmp64 = radix.Sort(pairs, tmp64, 32, limit)
			if !slices.Equal(a, want) || !slices.Equal(pairs, wantPairs) {
				t.Fatalf("%d numbers up to %d are not sorted", n, limit)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{48, 100, 25_000} {
		from := make([]uint64, n)
		for i := range from {
			from[i] = uint64(r.IntN(30_000))<<32 | uint64(i)
		}
		a, tmp := make([]uint64, n), []uint64(nil)
		for _, name := range []string{"radix", "slices"} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					copy(a, from)
					if name == "radix" {
						tmp = radix.Sort(a, tmp, 32, 30_000)
					} else {
						slices.Sort(a)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/number")
			})
		}
	}
}
