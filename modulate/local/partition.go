package local

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"

	"github.com/lexsem/lexsem/modulate"
)

// Partition divides unit vectors into cells: a vector belongs to the cell
// whose centroid has the largest inner product with it. It never changes, so
// reading is safe for concurrent use.
type Partition struct {
	dim       int
	centroids []float32 // [Cells × dim], unit length
}

// OneCell is the partition of a corpus that is not known yet: a single cell.
func OneCell(dim int) *Partition { return &Partition{dim: dim, centroids: make([]float32, dim)} }

// PartitionOptions shape NewPartition. The zero value of each field is its
// default.
type PartitionOptions struct {
	// Cells is the number of cells wanted, at most one a vector; 0 means one
	// for each CellPassages vectors.
	Cells int
	// Seed decides on the sample and the start of k-means.
	Seed uint64
	// Rounds of k-means; 0 means 12.
	Rounds int
	// Workers is the number of goroutines; 0 means 1. The result is the same.
	Workers int
}

// CellPassages is the size of a cell that NewPartition aims at.
const CellPassages = 250

// CellsFor is the number of cells that NewPartition makes of n vectors.
func CellsFor(n int) int { return max(1, (n+CellPassages/2)/CellPassages) }

// partitionSample is the number of vectors for each cell that k-means looks at.
const partitionSample = 100

// NewPartition makes a partition by spherical k-means over the n vectors
// vectors(0) … vectors(n−1) of length dim, or over a sample of 100 for each
// cell where there are more. Cells that lose all their vectors start again at
// a vector of the largest. Cost O(sample·Cells·dim) a round. The same vectors
// and options give the same cells.
func NewPartition(dim, n int, vectors func(i int) []float32, o PartitionOptions) (*Partition, error) {
	if o.Cells == 0 {
		o.Cells = CellsFor(n)
	}
	if o.Rounds == 0 {
		o.Rounds = 12
	}
	if dim < 1 || n < 1 || o.Cells < 1 || o.Cells > n || o.Rounds < 1 {
		return nil, fmt.Errorf("%w: %d cells of %d vectors of dimension %d by %d rounds; ask for 1 to as many cells as there are vectors", modulate.ErrOptions, o.Cells, n, dim, o.Rounds)
	}
	r := rand.New(rand.NewPCG(o.Seed, 0x63656c6c73))
	sample := r.Perm(n)[:min(n, partitionSample*o.Cells)]
	rows := make([]float32, 0, len(sample)*dim)
	for _, i := range sample {
		v := vectors(i)
		if len(v) != dim || !vec.Finite(v) {
			return nil, fmt.Errorf("%w: vector %d has length %d; give %d finite numbers", modulate.ErrPassage, i, len(v), dim)
		}
		rows = append(rows, v...)
		vec.Normalize(rows[len(rows)-dim:])
	}
	p := &Partition{dim: dim, centroids: slices.Clone(rows[:o.Cells*dim])}
	cell := make([]int, len(sample))
	for range o.Rounds {
		p.assign(cell, rows, max(1, o.Workers))
		if !p.move(cell, rows, r) {
			break
		}
	}
	return p, nil
}

// move puts every centroid at the mean of its vectors and reports whether any
// centroid moved.
func (p *Partition) move(cell []int, rows []float32, r *rand.Rand) bool {
	d := p.dim
	sums := make([]float32, len(p.centroids))
	size := make([]int, p.Cells())
	for i, c := range cell {
		vec.Axpy(sums[c*d:(c+1)*d], 1, rows[i*d:(i+1)*d])
		size[c]++
	}
	for c := range size {
		s := sums[c*d : (c+1)*d]
		if size[c] > 0 && vec.Normalize(s) {
			continue
		}
		big := slices.Index(size, slices.Max(size))
		var members []int
		for i, at := range cell {
			if at == big {
				members = append(members, i)
			}
		}
		i := members[r.IntN(len(members))]
		copy(s, rows[i*d:(i+1)*d])
	}
	moved := !slices.Equal(sums, p.centroids)
	p.centroids = sums
	return moved
}

// assign writes the cell of each row into cell.
func (p *Partition) assign(cell []int, rows []float32, workers int) {
	const block = 256
	d, k := p.dim, p.Cells()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			dots := make([]float32, block*k)
			for from := w * block; from < len(cell); from += workers * block {
				n := min(block, len(cell)-from)
				vec.MatMulNT(dots[:n*k], rows[from*d:(from+n)*d], p.centroids, n, k, d)
				for i := range n {
					cell[from+i] = largest(dots[i*k : (i+1)*k])
				}
			}
		})
	}
	wg.Wait()
}

func largest(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Dim is d.
func (p *Partition) Dim() int { return p.dim }

// Cells is the number of cells.
func (p *Partition) Cells() int { return len(p.centroids) / p.dim }

// Cell is the cell of the vector x [Dim]. Cost O(Cells·d).
func (p *Partition) Cell(x []float32) int {
	dots := make([]float32, p.Cells())
	vec.DotRows(dots, x[:p.dim], p.centroids)
	return largest(dots)
}

// Assign returns the cell of each of the rows [n × Dim], on the given number
// of goroutines.
func (p *Partition) Assign(rows []float32, workers int) []int {
	cell := make([]int, len(rows)/p.dim)
	p.assign(cell, rows, max(1, workers))
	return cell
}

// Dots writes the inner products of x [Dim] with the centroids to dst [Cells].
func (p *Partition) Dots(dst, x []float32) {
	vec.DotRows(dst[:p.Cells()], x[:p.dim], p.centroids)
}
