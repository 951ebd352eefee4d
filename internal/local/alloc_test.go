//go:build !race

package local

import (
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/modulate"
)

// The race detector makes pools drop items, hence the build tag.
func TestQueriesDoNotAllocate(t *testing.T) {
	c := newSet(7, 300)
	b := c.build(t, Options{Cells: 5})
	r := rand.New(rand.NewPCG(1, 1))
	in := modulate.Input{Tokens: randomTokens(r, 8), Dense: unit(r, testDim)}
	cells, probes, found := make([]int, 0, 5), make([]Probe, 0, 5), make([]Scored, 0, 400)
	out := make([]float32, 0, 5*testDim)
	n := testing.AllocsPerRun(200, func() {
		cells, _ = b.Probe(cells[:0], in, 3)
		out, _ = b.Modulate(ctx, out[:0], in, cells)
		probes = probes[:0]
		for i, cell := range cells {
			probes = append(probes, Probe{cell, out[i*testDim : (i+1)*testDim]})
		}
		found, _ = b.Search(ctx, found[:0], probes, 10, nil)
	})
	if n > 0.1 || len(found) != 10 {
		t.Errorf("%v allocations a query, %d answers", n, len(found))
	}
}
