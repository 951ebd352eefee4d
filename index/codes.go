package index

import (
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// coding is the kind of codes that an index keeps in addition to the float32 rows.
type coding int

const (
	noCodes coding = iota
	byInt8         // a byte a component: vec.QuantizeInt8
	byInt4         // half a byte: vec.QuantizeInt4
)

// codes keep vectors as codes in addition to the float32 rows: only a quarter or an
// eighth of the bytes are fetched. Distances between codes approximate the true ones;
// scan bounds the error.
type codes struct {
	m      *metric
	by     coding
	rows   arena[int8]
	scales arena[float32] // one a row
	norms  arena[float32] // the rows' lengths; empty if all are 1
	losts  arena[int8]    // what vec.QuantizeInt4 lost of each row; empty by int8
}

func newCodes(dim int, m *metric, by coding) codes {
	b, bytes := chunkBits(dim), dim
	if by == byInt4 {
		bytes = vec.Int4Bytes(dim)
	}
	one := arena[float32]{dim: 1, bits: b}
	return codes{m: m, by: by, rows: arena[int8]{dim: bytes, bits: b}, scales: one, norms: one, losts: arena[int8]{dim: 1, bits: b}}
}

// width is the number of codes of a query, which may be one more than the number of its
// components.
func (c *codes) width() int {
	if c.by == byInt4 {
		return 2 * c.rows.dim
	}
	return c.rows.dim
}

// query is the query of a comparison: a vector and, in an index with codes, its codes.
type query struct {
	row   []float32
	code  []int8  // a byte each
	scale float32 // of code
	norm  float32 // length of row, where there are codes
}

// grown is c with room for n slots in total.
func (c codes) grown(n int) codes {
	c.rows, c.scales = c.rows.grown(n), c.scales.grown(n)
	if !c.m.unit {
		c.norms = c.norms.grown(n)
	}
	if c.by == byInt4 {
		c.losts = c.losts.grown(n)
	}
	return c
}

// copied is c with copies of the given chunks.
func (c codes) copied(places []int) codes {
	c.rows, c.scales = c.rows.copied(places), c.scales.copied(places)
	if !c.m.unit {
		c.norms = c.norms.copied(places)
	}
	if c.by == byInt4 {
		c.losts = c.losts.copied(places)
	}
	return c
}

// put stores a vector that metric.put prepared.
func (c *codes) put(slot uint32, v []float32) {
	if c.by == byInt4 {
		c.scales.row(slot)[0], c.losts.row(slot)[0] = vec.QuantizeInt4(c.rows.row(slot), v)
	} else {
		c.scales.row(slot)[0] = vec.QuantizeInt8(c.rows.row(slot), v)
	}
	if !c.m.unit {
		c.norms.row(slot)[0] = vec.Norm(v)
	}
}

// move copies one slot to another, in a flat index with codes of one byte.
func (c *codes) move(to, from uint32) {
	copy(c.rows.row(to), c.rows.row(from))
	c.scales.row(to)[0] = c.scales.row(from)[0]
	if !c.m.unit {
		c.norms.row(to)[0] = c.norms.row(from)[0]
	}
}

// fill makes the codes of q.row; q.code has length width, with 0 after the codes.
func (c *codes) fill(q *query) {
	q.scale = vec.QuantizeInt8(q.code[:len(q.row)], q.row)
	q.norm = 1
	if !c.m.unit {
		q.norm = vec.Norm(q.row)
	}
}

// query returns a stored row, given as row, in the form of a query. space, of length
// width, receives its codes if they are not stored as one byte each.
func (c *codes) query(slot uint32, row []float32, space []int8) query {
	code := c.rows.row(slot)
	if c.by == byInt4 {
		vec.UnpackInt4(space, code)
		code = space
	}
	return query{row: row, code: code, scale: c.scales.row(slot)[0], norm: c.norm(slot)}
}

// norm is the length of a row.
func (c *codes) norm(slot uint32) float32 {
	if c.m.unit {
		return 1
	}
	return c.norms.row(slot)[0]
}

// form describes how a metric uses an inner product s: one − slope·s and, if squares is
// set, plus |q|² + |p|².
type form struct {
	one, slope float32
	squares    bool
}

// found holds the locations of the codes of some slots, and their scales. Its memory is
// reused.
type found struct {
	rows   []*int8
	scales []float32
	dots   []int32 // scratch of distances
}

// find prefetches the codes of slots, and records their locations.
func (c *codes) find(f *found, slots []uint32) {
	n := len(slots)
	f.rows, f.scales = vec.Grown(f.rows, n), vec.Grown(f.scales, n)
	chunks, bits, dim := c.rows.chunks, c.rows.bits, c.rows.dim // which the CPU has at hand in the loops
	mask, rows, scales := uint32(1)<<bits-1, f.rows[:n], f.scales[:n]
	for i, slot := range slots {
		rows[i] = &chunks[slot>>bits][int(slot&mask)*dim]
	}
	vec.PrefetchRows(rows, dim)
	ones := c.scales.chunks
	for i, slot := range slots { // which waits, while the rows are on their way
		scales[i] = ones[slot>>bits][slot&mask]
	}
}

// add adds one slot to f.
func (c *codes) add(f *found, slot uint32) {
	f.rows, f.scales = append(f.rows, &c.rows.row(slot)[0]), append(f.scales, c.scales.row(slot)[0])
}

// distances writes to dist the approximate distances from q to the slots that f has
// found.
func (c *codes) distances(dist []float32, q *query, slots []uint32, f *found) {
	one, slope := c.m.code.one, c.m.code.slope*q.scale
	if c.m.code.squares {
		one += q.norm * q.norm
	}
	f.dots = vec.Grown(f.dots, len(slots))
	c.dots(f.dots, q, f.rows)
	dist, scales := dist[:len(slots)], f.scales[:len(slots)]
	for i, dot := range f.dots {
		dist[i] = one - slope*scales[i]*float32(dot)
	}
	if c.m.code.squares {
		for i, slot := range slots {
			norm := c.norms.row(slot)[0]
			dist[i] += norm * norm
		}
	}
}

// dots writes the inner products of the codes of q with rows.
func (c *codes) dots(out []int32, q *query, rows []*int8) {
	if c.by == byInt4 {
		vec.DotInt4At(out, q.code, rows)
	} else {
		vec.DotInt8At(out, q.code, rows)
	}
}

// doubt is the distance error of codes for a row like that in slot, seen from q: six
// standard deviations of the difference, if components are rounded independently with
// errors uniform within half a scale. For codes of four bits it is three, for errors in
// any direction: six find no more, and read up to twice as many rows.
func (c *codes) doubt(q *query, slot uint32) float32 {
	scale, norm, deviations := c.scales.row(slot)[0], c.norm(slot), 6.0
	x, y := float64(q.scale*norm), float64(scale*q.norm)
	if c.by == byInt4 {
		y = float64(c.lost(slot)*q.norm) * math.Sqrt(12/float64(len(q.row)))
		deviations = 3
	}
	return float32(float64(c.m.code.slope) * deviations * math.Sqrt((x*x+y*y)/6))
}

// lost is an upper bound of the length that a row lost in codes of four bits.
func (c *codes) lost(slot uint32) float32 {
	return float32(c.losts.row(slot)[0]) * vec.LostInt4 * c.norm(slot)
}
