package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
)

func TestPartition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, n, cells = 20, 3000, 8
	topics := make([][]float32, cells)
	for i := range topics {
		topics[i] = unit(r, d)
	}
	var rows []float32
	topic := make([]int, n)
	for i := range n {
		topic[i] = r.IntN(cells)
		v := unit(r, d)
		vec.Axpy(v, 4, topics[topic[i]])
		vec.Normalize(v)
		rows = append(rows, v...)
	}
	row := func(i int) []float32 { return rows[i*d : (i+1)*d] }
	p, err := NewPartition(d, n, row, PartitionOptions{Cells: cells, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if p.Cells() != cells || p.Dim() != d {
		t.Fatalf("%d cells of dimension %d", p.Cells(), p.Dim())
	}
	assigned := p.Assign(rows, 2)
	cosine, members := 0.0, make([]int, cells)
	dots := make([]float32, cells)
	for i := range n {
		p.Dots(dots, row(i))
		if c := p.Cell(row(i)); dots[c] != slices.Max(dots) || slices.Max(dots)-dots[assigned[i]] > 1e-6 {
			t.Fatalf("vector %d is in cell %d and %d, dots %v", i, c, assigned[i], dots)
		}
		cosine += float64(slices.Max(dots)) / n
		members[assigned[i]]++
	}
	if slices.Min(members) == 0 {
		t.Errorf("sizes %v: a cell of the sample is empty", members)
	}
	// k-means finds what chance centres do not
	one, err := NewPartition(d, n, row, PartitionOptions{Cells: cells, Seed: 3, Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	before := 0.0
	for i := range n {
		one.Dots(dots, row(i))
		before += float64(slices.Max(dots)) / n
	}
	if cosine < before {
		t.Errorf("mean cosine to the centroid %.3f, after one round %.3f", cosine, before)
	}
	for _, o := range []PartitionOptions{{Cells: cells, Seed: 3}, {Cells: cells, Seed: 3, Workers: 5}} {
		again, err := NewPartition(d, n, row, o)
		if err != nil || !same(again.centroids, p.centroids) {
			t.Errorf("%+v: not the same cells again; %v", o, err)
		}
	}
	other, err := NewPartition(d, n, row, PartitionOptions{Cells: cells, Seed: 4})
	if err != nil || same(other.centroids, p.centroids) {
		t.Errorf("another seed made the same cells; %v", err)
	}
	if byDefault, err := NewPartition(d, n, row, PartitionOptions{}); err != nil || byDefault.Cells() != 12 {
		t.Errorf("%d cells by default for %d vectors; %v", byDefault.Cells(), n, err)
	}
}

// Vectors that are all the same, and as many cells as vectors, are no trouble.
func TestPartitionDegenerate(t *testing.T) {
	v := []float32{0, 1, 0}
	for _, n := range []int{1, 5} {
		p, err := NewPartition(3, n, func(int) []float32 { return v }, PartitionOptions{Cells: n})
		if err != nil || p.Cell(v) != 0 || !vec.Finite(p.centroids) {
			t.Errorf("%d: %v", n, err)
		}
	}
	// opposite vectors in one cell have no mean direction
	p, err := NewPartition(1, 2, func(i int) []float32 { return []float32{float32(1 - 2*i)} }, PartitionOptions{Cells: 1})
	if err != nil || math.Abs(float64(p.centroids[0])) != 1 {
		t.Errorf("%v %v", p, err)
	}
}

func TestPartitionRefuses(t *testing.T) {
	v := func(int) []float32 { return []float32{1, 0} }
	for _, c := range []struct {
		dim, n int
		o      PartitionOptions
	}{{0, 5, PartitionOptions{}}, {2, 0, PartitionOptions{}}, {2, 5, PartitionOptions{Cells: 6}}, {2, 5, PartitionOptions{Cells: -1}}, {2, 5, PartitionOptions{Rounds: -1}}} {
		if _, err := NewPartition(c.dim, c.n, v, c.o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := NewPartition(3, 5, v, PartitionOptions{}); !errors.Is(err, ErrPassage) {
		t.Error(err)
	}
	nan := float32(math.NaN())
	if _, err := NewPartition(2, 5, func(int) []float32 { return []float32{nan, 1} }, PartitionOptions{}); !errors.Is(err, ErrPassage) {
		t.Error(err)
	}
}
