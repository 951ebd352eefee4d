package local

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// partition divides unit vectors into cells: a vector belongs to the cell whose centroid has
// the largest inner product with it. If there are many cells, they form about √cells groups,
// and only the cells of the nearest groups are compared. A few vectors then go to the
// second-best cell, and finding a cell costs O(√cells·d). It never changes.
type partition struct {
	dim       int
	centroids []float32 // [cells × dim], unit length, those of a group together
	groups    []float32 // [groups × dim], unit length; none where cells are few
	first     []uint32  // [groups + 1] the first cell of each, and the end
}

const (
	cellPassages = 250 // the size of a cell that a partition aims at
	flatCells    = 64  // up to so many cells have no groups
	nearGroups   = 3   // the groups whose cells are compared
	sampleFlat   = 100 // the vectors for each cell that k-means looks at, without groups
	sampleGroups = 40  // and with them
	rounds       = 12  // of k-means
)

// CellsFor is the number of cells for n passages: one for about every 250.
func CellsFor(n int) int { return max(1, (n+cellPassages/2)/cellPassages) }

// oneCell is the partition of a corpus that is not yet known.
func oneCell(dim int) *partition { return &partition{dim: dim, centroids: make([]float32, dim)} }

// newPartition makes a partition of k cells by spherical k-means over the n vectors vectors(0)
// … vectors(n−1) of length dim, or, if there are more, over a sample of 100 for each cell (40
// with groups). Cells that lose all their vectors restart at a vector of the largest cell.
// Cost O(n·√k·dim). The same vectors, seed and k give the same cells, whatever the number of
// workers.
func newPartition(ctx context.Context, dim, n, k int, vectors func(i int) []float32, seed uint64, workers func() int) (*partition, error) {
	r := rand.New(rand.NewPCG(seed, 0x63656c6c73))
	each := sampleFlat
	if k > flatCells {
		each = sampleGroups
	}
	sample := r.Perm(n)[:min(n, each*k)]
	rows := make([]float32, 0, len(sample)*dim)
	for i, at := range sample {
		if err := ctx.Err(); i%1024 == 0 && err != nil {
			return nil, err
		}
		v := vectors(at)
		if len(v) != dim || !vec.Finite(v) {
			return nil, fmt.Errorf("%w: vector %d has length %d; give %d finite numbers", modulate.ErrPassage, at, len(v), dim)
		}
		rows = append(rows, v...)
		vec.Normalize(rows[len(rows)-dim:])
	}
	p := &partition{dim: dim, centroids: slices.Clone(rows[:k*dim])}
	cell := make([]int, len(sample))
	for range rounds {
		if err := p.group(ctx, r); err != nil {
			return nil, err
		}
		if err := p.assign(ctx, cell, rows, workers); err != nil {
			return nil, err
		}
		if !p.move(cell, rows, r) {
			break
		}
	}
	return p, p.group(ctx, r)
}

// move puts every centroid at the mean of its vectors and reports whether any
// centroid moved.
func (p *partition) move(cell []int, rows []float32, r *rand.Rand) bool {
	d := p.dim
	sums := make([]float32, len(p.centroids))
	size := make([]int, p.cells())
	for i, c := range cell {
		vec.Axpy(sums[c*d:(c+1)*d], 1, rows[i*d:(i+1)*d])
		size[c]++
	}
	var largest []int // the vectors of the largest cell, once they are needed
	for c := range size {
		s := sums[c*d : (c+1)*d]
		if size[c] > 0 && vec.Normalize(s) {
			continue
		}
		if largest == nil {
			big := slices.Index(size, slices.Max(size))
			for i, at := range cell {
				if at == big {
					largest = append(largest, i)
				}
			}
		}
		i := largest[r.IntN(len(largest))]
		copy(s, rows[i*d:(i+1)*d])
	}
	moved := !slices.Equal(sums, p.centroids)
	p.centroids = sums
	return moved
}

// group puts the centroids, if there are many, into groups by k-means, and sorts them by
// group. Cost O(cells^1.5·d).
func (p *partition) group(ctx context.Context, r *rand.Rand) error {
	k, d := p.cells(), p.dim
	if k <= flatCells {
		return nil
	}
	g := int(math.Round(math.Sqrt(float64(k))))
	top := &partition{dim: d, centroids: p.groups}
	if len(p.groups) == 0 {
		for _, c := range r.Perm(k)[:g] {
			top.centroids = append(top.centroids, p.centroids[c*d:(c+1)*d]...)
		}
	}
	at := make([]int, k)
	for range 3 {
		if err := top.assign(ctx, at, p.centroids, one); err != nil {
			return err
		}
		top.move(at, p.centroids, r)
	}
	if err := top.assign(ctx, at, p.centroids, one); err != nil {
		return err
	}
	order := make([]int, k)
	for c := range order {
		order[c] = c
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	next := &partition{dim: d}
	most := 4 * k / g // a larger group is cut, so that every look costs O(√cells)
	for i, c := range order {
		n := len(next.first)
		if i == 0 || at[c] != at[order[i-1]] || i-int(next.first[n-1]) == most {
			next.first = append(next.first, uint32(i))
			next.groups = append(next.groups, make([]float32, d)...)
		}
		x := p.centroids[c*d : (c+1)*d]
		next.centroids = append(next.centroids, x...)
		vec.Axpy(next.groups[len(next.groups)-d:], 1, x)
	}
	for i, from := range next.first {
		if s := next.groups[i*d : (i+1)*d]; !vec.Normalize(s) {
			copy(s, next.centroids[int(from)*d:])
		}
	}
	next.first = append(next.first, uint32(k))
	*p = *next
	return nil
}

// assign writes the cell of each row into cell. It is the cell that find returns: where the
// products of a matrix are too near each other to tell, find decides.
func (p *partition) assign(ctx context.Context, cell []int, rows []float32, workers func() int) error {
	d, k, block := p.dim, p.cells(), 256
	if len(p.first) > 0 {
		block = 2048
	}
	return parallel(ctx, workers, (len(cell)+block-1)/block, func(at int) error {
		s := assigners.Get().(*assigner)
		defer assigners.Put(s)
		from := at * block
		n := min(block, len(cell)-from)
		part := rows[from*d : (from+n)*d]
		if len(p.first) > 0 {
			s.grouped(p, cell[from:from+n], part)
			return nil
		}
		dots := s.products(part, p.centroids, n, k, d)
		for i := range n {
			x, row := part[i*d:(i+1)*d], dots[i*k:(i+1)*k]
			best := largest(row)
			if cell[from+i] = best; within(row, row[best]-doubt(x)) > 1 {
				cell[from+i] = p.find(x, &s.rows)
			}
		}
		return nil
	})
}

// doubt is how far two products of x with unit vectors may lie from each other and still
// change their order when they are added up in another order.
func doubt(x []float32) float32 { return 1e-5 * float32(math.Sqrt(float64(vec.Dot(x, x)))) }

// within is the number of products that are not below least.
func within(dots []float32, least float32) int {
	n := 0
	for _, v := range dots {
		if !(v < least) {
			n++
		}
	}
	return n
}

// assigner is the working memory of assign.
type assigner struct {
	dots, rows   []float32
	best, second []float32 // of each row, the two largest products with cells
	near         [][]int32 // of each group, the rows that are to be compared with its cells
}

var assigners = sync.Pool{New: func() any { return new(assigner) }}

func (s *assigner) products(a, b []float32, m, n, d int) []float32 {
	s.dots = vec.Grown(s.dots, m*n)
	vec.MatMulNT(s.dots, a, b, m, n, d)
	return s.dots
}

// grouped assigns rows by the cells of their nearest groups, group by group.
func (s *assigner) grouped(p *partition, cell []int, rows []float32) {
	d, g := p.dim, len(p.first)-1
	s.near = vec.Grown(s.near, g)
	for i := range s.near {
		s.near[i] = s.near[i][:0]
	}
	dots := s.products(rows, p.groups, len(cell), g, d)
	s.best, s.second = vec.Grown(s.best, len(cell)), vec.Grown(s.second, len(cell))
	inf := float32(math.Inf(1))
	for i := range cell {
		x, row := rows[i*d:(i+1)*d], dots[i*g:(i+1)*g]
		near := nearest(row)
		s.best[i], s.second[i] = -inf, -inf
		if last := near[nearGroups-1]; last >= 0 && within(row, row[last]-doubt(x)) > nearGroups {
			s.second[i] = inf // another group may be among the nearest
		}
		for _, at := range near {
			if at >= 0 {
				s.near[at] = append(s.near[at], int32(i))
			}
		}
	}
	for at, list := range s.near {
		from, to := int(p.first[at]), int(p.first[at+1])
		s.rows = s.rows[:0]
		for _, i := range list {
			s.rows = append(s.rows, rows[int(i)*d:(int(i)+1)*d]...)
		}
		k := to - from
		dots := s.products(s.rows, p.centroids[from*d:to*d], len(list), k, d)
		for j, i := range list {
			for c, v := range dots[j*k : (j+1)*k] {
				if v > s.best[i] {
					s.best[i], s.second[i], cell[i] = v, max(s.best[i], s.second[i]), from+c
				} else {
					s.second[i] = max(s.second[i], v)
				}
			}
		}
	}
	for i := range cell {
		if x := rows[i*d : (i+1)*d]; !(s.second[i] < s.best[i]-doubt(x)) {
			cell[i] = p.find(x, &s.rows)
		}
	}
}

// nearest returns the groups with the largest products, −1 for missing ones.
func nearest(dots []float32) [nearGroups]int {
	at := [nearGroups]int{-1, -1, -1}
	for i, v := range dots {
		if at[2] >= 0 && v <= dots[at[2]] {
			continue
		}
		at[2] = i
		for j := 2; j > 0 && (at[j-1] < 0 || v > dots[at[j-1]]); j-- {
			at[j], at[j-1] = at[j-1], at[j]
		}
	}
	return at
}

// find is the cell of the vector x [dim]. It uses the space of scratch.
func (p *partition) find(x []float32, scratch *[]float32) int {
	d := p.dim
	dots := func(rows []float32) []float32 {
		*scratch = vec.Grown(*scratch, len(rows)/d)
		vec.DotRows(*scratch, x[:d], rows)
		return *scratch
	}
	if len(p.first) == 0 {
		return largest(dots(p.centroids))
	}
	near := nearest(dots(p.groups))
	best, at := float32(math.Inf(-1)), int(p.first[near[0]])
	for _, g := range near {
		if g < 0 {
			continue
		}
		from, to := int(p.first[g]), int(p.first[g+1])
		inner := dots(p.centroids[from*d : to*d])
		if i := largest(inner); inner[i] > best || inner[i] == best && from+i < at {
			best, at = inner[i], from+i
		}
	}
	return at
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

// cells is the number of cells.
func (p *partition) cells() int { return len(p.centroids) / p.dim }

// dots writes the inner products of x [dim] with the centroids to dst [cells].
func (p *partition) dots(dst, x []float32) { vec.DotRows(dst[:p.cells()], x[:p.dim], p.centroids) }
