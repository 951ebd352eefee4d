//go:build !race

package index_test

import (
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/index"
)

// The race detector makes pools drop items, hence the build tag.
func TestCellsSearchDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	x := newCells(t, 64, 8)
	for id := range uint64(2000) {
		if err := x.put(int(id%8), []uint64{id}, normals(r, 64)); err != nil {
			t.Fatal(err)
		}
	}
	q := normals(r, 64)
	probes := everywhere(x, q)
	dst := make([]index.Scored, 0, 4000)
	n := testing.AllocsPerRun(100, func() {
		if _, err := x.Search(dst, q, probes, index.SearchOptions{K: 10}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0.1 {
		t.Errorf("%v allocations a search", n)
	}
}
