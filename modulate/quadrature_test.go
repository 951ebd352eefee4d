package modulate

import (
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// TestQuadrature holds the table to gonum's, to the last bit.
func TestQuadrature(t *testing.T) {
	nodes, weights := make([]float64, len(pathNodes)), make([]float64, len(pathWeights))
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	for i := range nodes {
		if pathNodes[i] != nodes[i] || pathWeights[i] != weights[i] {
			t.Errorf("point %d is %v with weight %v, not %v with %v", i, pathNodes[i], pathWeights[i], nodes[i], weights[i])
		}
	}
}
