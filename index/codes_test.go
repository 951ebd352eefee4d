package index_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/index"
)

// Vectors that codes keep exactly differ from what their codes tell by the
// rounding of float32 sums alone. The bound must allow for that too.
func TestBoundsAllowForTheRoundingOfSums(t *testing.T) {
	const n, dim, k = 3000, 1000, 10
	r := rand.New(rand.NewPCG(4, 2))
	v := make([]float32, n*dim)
	for i := range v {
		v[i] = float32(r.IntN(3)) * 31 // some number of steps of the largest, 62
	}
	_ = math.Abs
	for _, metric := range index.Metrics() {
		flat, _ := index.New("flat", index.Options{Dim: dim, Metric: metric})
		coded, _ := index.New("flat-int8", index.Options{Dim: dim, Metric: metric})
		add(t, flat, ids(n, 0), v)
		add(t, coded, ids(n, 0), v)
		for i := range 200 {
			q := v[i*dim : (i+1)*dim]
			want, got := search(t, flat, q, index.SearchOptions{K: k}), search(t, coded, q, index.SearchOptions{K: k})
			for j := range want {
				if got[j] != want[j] {
					t.Fatalf("%s, query %d, rank %d: %v, want %v", metric, i, j, got[j], want[j])
				}
			}
		}
	}
}
