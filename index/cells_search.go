package index

import (
	"cmp"
	"fmt"
	"math"
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

// The rounding of codes is bounded as follows. With x = x̂ + e, x̂ the decoded
// codes, for both vectors,
//
//	|q·p − q̂·p̂| = |q̂·e_p + e_q·p| ≤ ‖q̂‖‖e_p‖ + ‖e_q‖‖p‖
//
// where ‖p‖ = 1. slack allows for the rounding of float32 sums besides, relative
// to ‖q‖: the kernels keep 16 sums or more side by side.
func slack(dim int) float64 { return float64(dim/16+16) * 0x1p-23 }

// rounding returns the length of the decoded codes and of what was lost.
func rounding(x []float32, codes []int8, scale float32) (decoded, lost float64) {
	for i, v := range x {
		d := float64(scale) * float64(codes[i])
		e := float64(v) - d
		decoded += d * d
		lost += e * e
	}
	return math.Sqrt(decoded), math.Sqrt(lost)
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
	s.near = s.near[:0]
	s.top = topK{heap: s.top.heap[:0], k: min(o.K, len(x.place)), radius: infinite}
	if s.top.k == 0 {
		return dst, nil
	}
	for i := range probes {
		x.scan(s, i, probes[i], o.Allow)
	}
	return x.score(dst, q, probes, s, o.K), nil
}

// scan notes the vectors of a cell that may be among the best so far.
func (x *Cells) scan(s *cellScratch, probe int, p Probe, allow func(uint64) bool) {
	c := &x.cells[p.Cell]
	s.query = resized(s.query, x.dim)
	scale := vec.QuantizeInt8(s.query, p.Query)
	decoded, lost := rounding(p.Query, s.query, scale)
	bound := float32(decoded*c.lost + lost + slack(x.dim)*(decoded+lost))
	for from := 0; from < len(c.ids); from += flatBlock {
		n := min(flatBlock, len(c.ids)-from)
		dots := s.dots[:n]
		vec.DotInt8Rows(dots, s.query, c.codes[from*x.dim:(from+n)*x.dim])
		scales := c.scale[from : from+n]
		least := s.least() - bound
		for i, dot := range dots {
			score := float32(dot) * (scale * scales[i])
			if score < least {
				continue
			}
			id := c.ids[from+i]
			if allow != nil && !allow(id) {
				continue
			}
			s.near = append(s.near, nearby{probe: uint32(probe), slot: uint32(from + i), upper: score + bound})
			s.top.push(Neighbor{ID: id, Distance: bound - score})
			least = s.least() - bound
		}
	}
	if len(s.near) > s.keep {
		s.prune()
	}
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

// nearby is a vector that may be among the best.
type nearby struct {
	probe, slot uint32
	upper       float32 // its score is at most this
}

// cellScratch is what a search needs besides its answer.
type cellScratch struct {
	query []int8
	dots  []int32
	seen  []bool
	near  []nearby
	keep  int  // prune when near is longer
	top   topK // the best lower bounds of scores, as negative distances
}

var cellScratches = sync.Pool{New: func() any {
	return &cellScratch{dots: make([]int32, flatBlock), keep: 1024}
}}

// least is the score that a vector must be able to reach.
func (s *cellScratch) least() float32 {
	if !s.top.full() {
		return float32(math.Inf(-1))
	}
	return -s.top.heap[0].Distance
}

// prune drops the candidates that cannot be among the best any more.
func (s *cellScratch) prune() {
	least := s.least()
	s.near = slices.DeleteFunc(s.near, func(n nearby) bool { return n.upper < least })
	s.keep = max(1024, 2*len(s.near))
}

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
