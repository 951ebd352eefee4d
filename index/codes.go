package index

import (
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// codes keep vectors as one byte a component (vec.QuantizeInt8) beside the
// float32 rows: a quarter of the bytes to fetch. Distances between codes are
// near the true ones, and scan says how near.
type codes struct {
	m      *metric
	rows   arena[int8]
	scales arena[float32] // one a row
	norms  arena[float32] // the rows' lengths; empty if all are 1
}

// query is what rows are compared with: a vector and, in an index with codes,
// its codes.
type query struct {
	row   []float32
	code  []int8
	scale float32 // of code
	norm  float32 // length of row, where there are codes
}

func newCodes(dim int, m *metric) *codes {
	return &codes{m: m, rows: newArena[int8](dim), scales: newArena[float32](1), norms: newArena[float32](1)}
}

// reserve makes room for n slots in all.
func (c *codes) reserve(n int) { c.take(c.grown(n)) }

// take makes the rows of g, which grown has made, those of c. The metric, which
// is read without a lock, stays.
func (c *codes) take(g codes) { c.rows, c.scales, c.norms = g.rows, g.scales, g.norms }

// grown is c with room for n slots in all; c may be read meanwhile.
func (c *codes) grown(n int) codes {
	g := codes{m: c.m, rows: c.rows.grown(n), scales: c.scales.grown(n), norms: c.norms}
	if !c.m.unit {
		g.norms = c.norms.grown(n)
	}
	return g
}

// release gives back what lies behind slot n.
func (c *codes) release(n int) {
	c.rows.release(n)
	c.scales.release(n)
	if !c.m.unit {
		c.norms.release(n)
	}
}

// put keeps a vector that metric.put has made.
func (c *codes) put(slot uint32, v []float32) {
	c.scales.row(slot)[0] = vec.QuantizeInt8(c.rows.row(slot), v)
	if !c.m.unit {
		c.norms.row(slot)[0] = vec.Norm(v)
	}
}

// putAll makes the codes of the first n rows.
func (c *codes) putAll(rows *arena[float32], n, workers int) {
	c.reserve(n)
	const piece = 1024
	parallel(workers, (n+piece-1)/piece, func(i int) {
		for slot := i * piece; slot < min(n, (i+1)*piece); slot++ {
			c.put(uint32(slot), rows.row(uint32(slot)))
		}
	})
}

// move copies one slot to another.
func (c *codes) move(to, from uint32) {
	copy(c.rows.row(to), c.rows.row(from))
	c.scales.row(to)[0] = c.scales.row(from)[0]
	if !c.m.unit {
		c.norms.row(to)[0] = c.norms.row(from)[0]
	}
}

// fill makes the codes of q.row; q.code has its length.
func (c *codes) fill(q *query) {
	q.scale = vec.QuantizeInt8(q.code, q.row)
	q.norm = 1
	if !c.m.unit {
		q.norm = vec.Norm(q.row)
	}
}

// query views a stored row, here given, as a query.
func (c *codes) query(slot uint32, row []float32) query {
	return query{row: row, code: c.rows.row(slot), scale: c.scales.row(slot)[0], norm: c.norm(slot)}
}

// norm is the length of a row.
func (c *codes) norm(slot uint32) float32 {
	if c.m.unit {
		return 1
	}
	return c.norms.row(slot)[0]
}

// form is what a metric makes of an inner product s:
// one − slope·s, and where squares is set, |q|² + |p|² more.
type form struct {
	one, slope float32
	squares    bool
}

// distances writes approximate distances from q to slots into dist.
func (c *codes) distances(dist []float32, q *query, slots []uint32) {
	f := &c.m.code
	one, slope := f.one, f.slope*q.scale
	if f.squares {
		one += q.norm * q.norm
	}
	var dots [4]int32
	for _, slot := range slots {
		vec.Prefetch(c.rows.row(slot), c.rows.dim)
	}
	for len(slots) > 0 {
		n := min(4, len(slots))
		c.dots4(&dots, q, slots)
		for j, slot := range slots[:n] {
			d := one - slope*c.scales.row(slot)[0]*float32(dots[j])
			if f.squares {
				norm := c.norms.row(slot)[0]
				d += norm * norm
			}
			dist[j] = d
		}
		dist, slots = dist[n:], slots[n:]
	}
}

// dots4 writes the inner products of the codes of q with those of the first
// four slots, or with all if there are fewer, at least one.
func (c *codes) dots4(out *[4]int32, q *query, slots []uint32) {
	if len(slots) >= 4 {
		s := slots[:4:4]
		vec.DotInt8x4(out, q.code, c.rows.row(s[0]), c.rows.row(s[1]), c.rows.row(s[2]), c.rows.row(s[3]))
		return
	}
	a, last := c.rows.row(slots[0]), c.rows.row(slots[len(slots)-1])
	b := last
	if len(slots) == 3 {
		b = c.rows.row(slots[1])
	}
	vec.DotInt8x4(out, q.code, a, b, last, last)
}

// dots writes the inner products with all slots.
func (c *codes) dots(out []int32, q *query, slots []uint32) {
	var four [4]int32
	for i := 0; i < len(slots); i += 4 {
		c.dots4(&four, q, slots[i:])
		copy(out[i:], four[:])
	}
}

// doubt is by how much codes may tell two rows like that in slot to be farther
// apart, seen from q, than they are: six standard deviations of the difference,
// for components rounded independently, whose errors are even within half a
// scale.
func (c *codes) doubt(q *query, slot uint32) float32 {
	scale, norm := c.scales.row(slot)[0], c.norm(slot)
	x, y := float64(q.scale*norm), float64(scale*q.norm)
	return float32(float64(c.m.code.slope) * 6 * math.Sqrt((x*x+y*y)/6))
}

// codeScan is what a scan needs. Its space is kept.
type codeScan struct {
	slots [flatBlock]uint32
	dots  [flatBlock]int32
	shortlist

	c                          *codes
	q                          *query
	last                       func(slot uint32) bool
	perScale, perNorm, decoded float32 // see err
}

type picker func(from int, out []uint32) (m, next int)

var infinite = float32(math.Inf(1))

// scan leaves in s.near every one of the first n slots that can be among the k
// nearest of q by true distance, ties included, and within the radius. Two
// filters say which slots count, if they are not nil. pick is asked before a
// distance is computed: it fills out with the next slots that count from one
// on, and returns how many, and where to go on. last is asked only about slots
// that come near.
func (c *codes) scan(s *codeScan, q *query, n, k int, radius float32, pick picker, last func(slot uint32) bool) {
	c.bound(s, q)
	s.reset(k, n, radius)
	s.last = last
	if pick == nil {
		for from := 0; from < n; {
			rows, m := c.rows.run(from, min(flatBlock, n-from))
			vec.DotInt8Rows(s.dots[:m], q.code, rows)
			for i := range m {
				s.slots[i] = uint32(from + i)
			}
			s.take(m)
			from += m
		}
	} else {
		for from, m := 0, 0; from < n; {
			m, from = pick(from, s.slots[:])
			c.dots(s.dots[:m], q, s.slots[:m])
			s.take(m)
		}
	}
	s.prune()
	s.last = nil
}

// bound prepares err: see slack. Each component of e_p is at most half the scale
// of p.
func (c *codes) bound(s *codeScan, q *query) {
	s.c, s.q = c, q
	slope, dim := float64(c.m.code.slope), c.rows.dim
	decoded, lost := rounding(q.row, q.code, q.scale)
	s.decoded = float32(slope * decoded * 1.0001)
	s.perScale = float32(slope * decoded * math.Sqrt(float64(dim)) / 2 * 1.0001)
	s.perNorm = float32(slope * (lost + slack(dim)*(decoded+lost)) * 1.0001)
}

// err bounds the difference between the distance of a row and that of its
// codes.
func (s *codeScan) err(slot uint32) float32 {
	scale := s.c.scales.row(slot)[0]
	if s.c.m.unit {
		return s.perScale*scale + s.perNorm
	}
	norm := s.c.norms.row(slot)[0]
	err := s.perScale*scale + s.perNorm*norm
	if scale == 0 { // too small for codes
		err = (s.decoded + s.perNorm) * norm
	}
	if s.c.m.code.squares { // and for the rounding of sums of squares
		err += 0x1p-20 * (s.q.norm*s.q.norm + norm*norm)
	}
	return err
}

// take looks at the first m slots, whose dots are known.
func (s *codeScan) take(m int) {
	f := &s.c.m.code
	one, slope, unit := f.one, f.slope*s.q.scale, s.c.m.unit
	if f.squares {
		one += s.q.norm * s.q.norm
	}
	for i, dot := range s.dots[:m] {
		slot := s.slots[i]
		scale := s.c.scales.row(slot)[0]
		d, err := one-slope*scale*float32(dot), s.perScale*scale+s.perNorm
		if !unit {
			if f.squares {
				norm := s.c.norms.row(slot)[0]
				d += norm * norm
			}
			err = s.err(slot)
		}
		if d-err > s.worst || s.last != nil && !s.last(slot) {
			continue
		}
		s.add(maybe{slot: slot, low: d - err}, d+err)
	}
	s.pruneIfLong()
}
