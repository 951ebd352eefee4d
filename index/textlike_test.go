package index_test

import (
	"math"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// TestTextLikeShape holds the generator to the figures it is documented with.
func TestTextLikeShape(t *testing.T) {
	const n, dim = 20000, 384
	v, q := indextest.TextLike(n, dim, 1), indextest.TextLikeQueries(100, dim, 1)
	ix, _ := index.New("flat", index.Options{Dim: dim})
	if err := ix.Add(indextest.IDs(n, 0), v); err != nil {
		t.Fatal(err)
	}
	dst := make([][]index.Neighbor, 100)
	if err := ix.SearchBatch(dst, q, index.SearchOptions{K: n}); err != nil {
		t.Fatal(err)
	}
	var at [3]float64
	var sum, sq float64
	for _, d := range dst {
		for i, r := range []int{0, 9, 99} {
			at[i] += 1 - float64(d[r].Distance)
		}
		for _, x := range d {
			c := 1 - float64(x.Distance)
			sum += c
			sq += c * c
		}
	}
	mean := sum / (100 * n)
	t.Logf("cosine of the 1st, 10th, 100th neighbour: %.3f %.3f %.3f; of a random pair: %.3f ± %.3f",
		at[0]/100, at[1]/100, at[2]/100, mean, math.Sqrt(sq/(100*n)-mean*mean))
	if mean < 0.03 || mean > 0.12 || at[0] < 70 || at[0] > 90 || at[2] < 45 || at[2] > 70 {
		t.Error("not like text")
	}
}
