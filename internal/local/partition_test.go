package local

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/indextest"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

func cut(t testing.TB, d, k int, rows []float32, seed uint64, goroutines int) (*partition, []int) {
	t.Helper()
	n := len(rows) / d
	p, err := newPartition(ctx, d, n, k, func(i int) []float32 { return rows[i*d : (i+1)*d] }, seed, workers(goroutines))
	if err != nil {
		t.Fatal(err)
	}
	cell := make([]int, n)
	if err := p.assign(ctx, cell, rows, workers(goroutines)); err != nil {
		t.Fatal(err)
	}
	return p, cell
}

// gain is the mean inner product with the centroids of the vectors' cells, and
// with the best of all centroids.
func gain(p *partition, rows []float32, cell []int) (got, best float64) {
	d, n := p.dim, float64(len(cell))
	dots := make([]float32, p.cells())
	for i, c := range cell {
		p.dots(dots, rows[i*d:(i+1)*d])
		got, best = got+float64(dots[c])/n, best+float64(slices.Max(dots))/n
	}
	return got, best
}

// Few cells: each vector goes to the nearest centroid, and k-means finds topics.
func TestPartition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, n, cells = 20, 3000, 8
	topics := make([][]float32, cells)
	for i := range topics {
		topics[i] = unit(r, d)
	}
	var rows []float32
	for range n {
		v := unit(r, d)
		vec.Axpy(v, 4, topics[r.IntN(cells)])
		vec.Normalize(v)
		rows = append(rows, v...)
	}
	p, cell := cut(t, d, cells, rows, 3, 2)
	members := make([]int, cells)
	dots := make([]float32, cells)
	var scratch []float32
	for i, c := range cell {
		members[c]++
		p.dots(dots, rows[i*d:(i+1)*d])
		if found := p.find(rows[i*d:], &scratch); dots[found] != slices.Max(dots) || c != found {
			t.Fatalf("vector %d is in cell %d and %d, dots %v", i, c, found, dots)
		}
	}
	if slices.Min(members) == 0 {
		t.Errorf("sizes %v: a cell of the sample is empty", members)
	}
	if got, _ := gain(p, rows, cell); got < 0.9 {
		t.Errorf("mean cosine to the centroid %.3f", got)
	}
	if again, _ := cut(t, d, cells, rows, 3, 5); !same(again.centroids, p.centroids) {
		t.Error("not the same cells again")
	}
	if other, _ := cut(t, d, cells, rows, 4, 1); same(other.centroids, p.centroids) {
		t.Error("another seed made the same cells")
	}
}

// Vectors that lie midway between two cells get one and the same cell from assign and from
// find, which add up their products in different orders.
func TestTies(t *testing.T) {
	const d = 48
	for _, k := range []int{2, 40, 150} {
		r := rand.New(rand.NewPCG(9, uint64(k)))
		p := &partition{dim: d}
		for range k {
			p.centroids = append(p.centroids, unit(r, d)...)
		}
		if err := p.group(ctx, r); err != nil {
			t.Fatal(err)
		}
		var rows []float32
		for i := range 6000 {
			// The nearest cell and the second are equally near, or the third group and the fourth.
			near, at := p.centroids, 0
			if i%2 > 0 && len(p.groups) > 0 {
				near, at = p.groups, nearGroups-1
			}
			v, dots, order := unit(r, d), make([]float32, len(near)/d), make([]int, len(near)/d)
			vec.DotRows(dots, v, near)
			for j := range order {
				order[j] = j
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(dots[b], dots[a]) })
			apart := slices.Clone(near[order[at]*d : (order[at]+1)*d])
			vec.Axpy(apart, -1, near[order[at+1]*d:(order[at+1]+1)*d])
			vec.Axpy(v, -vec.Dot(apart, v)/vec.Dot(apart, apart), apart)
			vec.Scale(v, float32(math.Exp(r.NormFloat64()*3)))
			rows = append(rows, v...)
		}
		cell := make([]int, len(rows)/d)
		if err := p.assign(ctx, cell, rows, one); err != nil {
			t.Fatal(err)
		}
		var scratch []float32
		for i, c := range cell {
			if found := p.find(rows[i*d:], &scratch); found != c {
				t.Fatalf("%d cells: assign puts vector %d into cell %d, find into %d", k, i, c, found)
			}
		}
	}
}

// Many cells stand in groups. Looking at the nearest groups alone costs little:
// within 2 % of the best centroids, cells are as even as without groups, and
// find and assign agree.
func TestGroups(t *testing.T) {
	const d, n, k = 32, 12000, 100
	rows := indextest.TextLike(n, d, 1)
	p, cell := cut(t, d, k, rows, 1, 1)
	if p.cells() != k || len(p.groups) == 0 {
		t.Fatalf("%d cells in %d groups", p.cells(), len(p.groups)/d)
	}
	got, best := gain(p, rows, cell)
	if got < 0.98*best || got < 0.60 {
		t.Errorf("mean cosine to the centroid %.4f, to the best %.4f", got, best)
	}
	size, differ := make([]int, k), 0
	var scratch []float32
	for i, c := range cell {
		size[c]++
		if p.find(rows[i*d:], &scratch) != c {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("find and assign differ for %d of %d vectors", differ, n)
	}
	if slices.Max(size) > 5*n/k || slices.Min(size) == 0 {
		t.Errorf("sizes of cells %v", size)
	}
	for i := range p.first[1:] {
		if in := int(p.first[i+1] - p.first[i]); in < 1 || in > 4*k/10 {
			t.Errorf("group %d has %d cells", i, in)
		}
	}
	if again, _ := cut(t, d, k, rows, 1, 3); !same(again.centroids, p.centroids) || !slices.Equal(again.first, p.first) {
		t.Error("not the same cells again")
	}
}

// The numbers that a vector is compared with grow as √cells.
func TestCostOfFinding(t *testing.T) {
	const d = 8
	for _, k := range []int{100, 400, 1600} {
		rows := indextest.TextLike(4*k, d, 1)
		p, _ := cut(t, d, k, rows, 1, 1)
		var sizes []int
		for i := range p.first[1:] {
			sizes = append(sizes, int(p.first[i+1]-p.first[i]))
		}
		slices.Sort(sizes)
		most := len(sizes)
		for _, s := range sizes[len(sizes)-nearGroups:] {
			most += s
		}
		if root := math.Sqrt(float64(k)); float64(most) > 14*root {
			t.Errorf("%d cells: up to %d products, %.1f × √cells", k, most, float64(most)/root)
		}
	}
}

// Vectors that are all the same, and as many cells as vectors, are no trouble.
func TestPartitionDegenerate(t *testing.T) {
	var scratch []float32
	v := []float32{0, 1, 0}
	for _, n := range []int{1, 5, 200} {
		p, _ := cut(t, 3, n, slices.Repeat(v, n), 0, 1)
		if p.cells() != n || p.find(v, &scratch) != 0 || !vec.Finite(p.centroids) {
			t.Errorf("%d vectors: %d cells", n, p.cells())
		}
	}
	// opposite vectors in one cell have no mean direction
	if p, _ := cut(t, 1, 1, []float32{1, -1}, 0, 1); math.Abs(float64(p.centroids[0])) != 1 {
		t.Errorf("%v", p)
	}
}

func TestPartitionRefuses(t *testing.T) {
	v := []float32{1, 0}
	at := func(int) []float32 { return v }
	if _, err := newPartition(ctx, 3, 5, 1, at, 0, one); !errors.Is(err, modulate.ErrPassage) {
		t.Error(err)
	}
	v = []float32{float32(math.NaN()), 1}
	if _, err := newPartition(ctx, 2, 5, 1, at, 0, one); !errors.Is(err, modulate.ErrPassage) {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := newPartition(cancelled, 2, 5, 1, at, 0, one); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
