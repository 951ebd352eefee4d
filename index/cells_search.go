package index

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// Probe asks a cell for the vectors with the largest inner product with Query
// [Dim], which is not normalised.
type Probe struct {
	Cell  int
	Query []float32
}

// Scored is one answer of Cells.Search.
type Scored struct {
	ID     uint64
	Score  float32 // the inner product with the query vector of its cell
	Cosine float32 // that with the plain query vector
}

// Search appends the K vectors with the largest scores in the probed cells to
// dst, by falling score, ties by id. q [Dim] is the plain query vector, of
// length 1 for Cosine to be one; o.Ef has no meaning here, and o.Allow is asked
// only for vectors that come near the answer. Probes in order of promise are
// fastest. A probe of a cell that does not exist, or twice of the same, is
// ErrOptions. No allocation when dst has room.
func (x *Cells) Search(dst []Scored, q []float32, probes []Probe, o SearchOptions) ([]Scored, error) {
	if o.K < 1 {
		return dst, fmt.Errorf("k is %d: %w", o.K, ErrBadK)
	}
	if len(q) != x.dim {
		return dst, fmt.Errorf("query: %w", &DimensionError{Got: len(q), Want: x.dim})
	}
	if !vec.Finite(q) {
		return dst, fmt.Errorf("query: %w", ErrNotFinite)
	}
	s := cellScratches.Get().(*cellScratch)
	defer cellScratches.Put(s)
	s.seen = resized(s.seen, len(x.cells))
	clear(s.seen)
	for i, p := range probes {
		if p.Cell < 0 || p.Cell >= len(x.cells) || s.seen[p.Cell] {
			return dst, fmt.Errorf("probe %d of cell %d, with %d cells; name each cell once: %w", i, p.Cell, len(x.cells), ErrOptions)
		}
		s.seen[p.Cell] = true
		if err := metrics[Dot].checkQuery(p.Query, x.dim); err != nil {
			return dst, fmt.Errorf("probe %d: %w", i, err)
		}
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.reset(o.K, len(x.place), infinite)
	for i := range probes {
		x.scan(s, i, probes[i], o.Allow)
	}
	return x.score(dst, q, probes, s, o.K), nil
}

// scan notes the vectors of a cell that may be among the best so far. The less a
// score is the farther is the vector: its negative serves as distance.
func (x *Cells) scan(s *cellScratch, probe int, p Probe, allow func(uint64) bool) {
	c := &x.cells[p.Cell]
	s.query = resized(s.query, x.dim)
	scale := vec.QuantizeInt8(s.query, p.Query)
	decoded, lost := rounding(p.Query, s.query, scale)
	bound := float32(decoded*c.lost + lost + slack(x.dim)*(decoded+lost)) // see slack; vectors have length 1
	for from := 0; from < len(c.ids); from += flatBlock {
		n := min(flatBlock, len(c.ids)-from)
		dots := s.dots[:n]
		vec.DotInt8Rows(dots, s.query, c.codes[from*x.dim:(from+n)*x.dim])
		scales := c.scale[from : from+n]
		for i, dot := range dots {
			d := -float32(dot) * (scale * scales[i])
			if d-bound > s.worst {
				continue
			}
			id := c.ids[from+i]
			if allow != nil && !allow(id) {
				continue
			}
			s.add(maybe{uint32(probe), uint32(from + i), d - bound}, d+bound)
		}
	}
	s.pruneIfLong()
}

// score scores the candidates of a scan exactly and keeps the best k. Two
// vectors go with a row: that of its cell, and the plain one.
func (x *Cells) score(dst []Scored, q []float32, probes []Probe, s *cellScratch, k int) []Scored {
	s.prune()
	base := len(dst)
	for _, n := range s.near {
		p := probes[n.probe]
		id := x.cells[p.Cell].ids[n.slot]
		var dots [4]float32
		vec.Dot4(&dots, x.vectors(id), p.Query, q, q, q)
		dst = append(dst, Scored{ID: id, Score: dots[0], Cosine: dots[1]})
	}
	slices.SortFunc(dst[base:], byScore)
	return dst[:min(len(dst), base+k)]
}

// cellScratch is what a search needs besides its answer.
type cellScratch struct {
	query []int8
	dots  []int32
	seen  []bool
	shortlist
}

var cellScratches = sync.Pool{New: func() any {
	return &cellScratch{dots: make([]int32, flatBlock)}
}}

// resized returns s with n entries of any value.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// byScore is the order of answers.
func byScore(a, b Scored) int {
	if c := cmp.Compare(b.Score, a.Score); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}
