package index

import (
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// flatBlock is the number of rows between two checks of the current threshold.
const flatBlock = 128

var infinite = float32(math.Inf(1))

// scanner compares a query with every live vector of a view. Its memory is reused, so
// searches allocate nothing.
type scanner struct {
	ids *idTable
	v   *view
	o   SearchOptions
	q   query // the query; g has the same vector
	top topK  // the nearest so far
	g   gather

	slots [2 * flatBlock]uint32 // to be compared with
	dots  [2 * flatBlock]int32
	dist  [2 * flatBlock]float32
	at    found // the codes of slots

	listed listed
	visit  func(id uint64) bool // see take

	shortlist
	perScale, perNorm, decoded float32 // see err
}

func newScanner(x *memory, ids *idTable) *scanner {
	s := &scanner{}
	s.init(x, ids)
	return s
}

func (s *scanner) init(x *memory, ids *idTable) {
	s.ids, s.visit = ids, s.take
	s.q.row = make([]float32, x.rows.dim)
	s.g = gather{m: x.m, q: s.q.row}
	if x.coded {
		s.q.code = make([]int8, x.codes.width())
	}
}

// ask sets the query q, which was checked, and clears the remains of an aborted search.
func (s *scanner) ask(q []float32) {
	s.g.n = 0
	s.g.m.put(s.q.row, q)
}

// begin starts a search in v with the checked query q, and returns the maximum number of
// answers.
func (s *scanner) begin(v *view, q []float32, o SearchOptions) int {
	s.v, s.o = v, o
	s.ask(q)
	if v.mem.coded {
		v.mem.codes.fill(&s.q)
	}
	s.top = topK{heap: s.top.heap[:0], k: min(o.K, v.live)}
	return s.top.k
}

// end drops what belongs to the caller.
func (s *scanner) end() {
	s.v, s.o = nil, SearchOptions{}
	clear(s.at.rows[:cap(s.at.rows)])
}

// may reports whether a live slot within the threshold may be returned.
func (s *scanner) may(slot uint32) bool {
	return s.o.Visible == nil || s.o.Visible(s.v.mem.id(slot))
}

// Costs of a scan, relative to one distance to a random vector.
const (
	costAsk  = 0.2 // one question to the filter
	costFind = 1   // the slot of an id
)

// lists reports whether to compare only with the ids that the filter names, one by one.
func (s *scanner) lists() bool {
	return s.o.Allow != nil && s.o.Among != nil && costFind*float64(s.o.Allowed) < costAsk*float64(s.v.n)
}

// scan leaves the nearest of all in s.top. With codes it first lists every vector that may
// be among them within the error bound of the codes.
func (s *scanner) scan() error {
	if s.lists() {
		if whole, err := s.among(); whole || err != nil {
			return err
		}
	}
	s.clear()
	v, x := s.v, s.v.mem
	rows, m := 1<<x.rows.bits, 0
	for from := 0; from < v.n; {
		end := min(v.n, from+rows)
		chunk := from >> x.rows.bits
		if x.rows.chunks[chunk] == nil {
			from = end
			continue
		}
		if err := s.ready(chunk); err != nil {
			return err
		}
		for ; from < end; from += flatBlock {
			n := min(flatBlock, end-from)
			if m == 0 && s.o.Allow == nil && v.whole(from, n) {
				s.run(from, n)
				continue
			}
			m += s.pick(s.slots[m:], from, n)
			if m >= flatBlock {
				s.apart(m)
				m = 0
			}
		}
		from = end
	}
	s.apart(m)
	if x.coded {
		return s.rescore()
	}
	return nil
}

// clear drops the results.
func (s *scanner) clear() {
	if s.v.mem.coded {
		s.bound()
		s.reset(s.top.k, s.v.live, infinite)
	}
	s.top.heap = s.top.heap[:0]
}

// among does the same as scan for the ids that the filter names. It reports whether it
// found the slots of all. If a concurrent change has moved a vector, the search's view
// still has it at its old slot, which the table no longer knows, and the slot in the table
// may hold another vector in that view.
func (s *scanner) among() (whole bool, err error) {
	s.clear()
	s.listed = listed{whole: true}
	s.o.Among(s.visit)
	if whole, err = s.listed.whole, s.listed.err; !whole || err != nil {
		return false, err
	}
	s.apart(s.listed.n)
	if s.v.mem.coded {
		err = s.rescore()
	}
	return true, err
}

// listed is the state of the walk over Among.
type listed struct {
	n     int // of s.slots, not compared with yet
	whole bool
	err   error
}

// take is visit as a function value, made once so that a search allocates nothing.
func (s *scanner) take(id uint64) bool {
	l, v, x := &s.listed, s.v, s.v.mem
	slot, ok := s.ids.slot(id)
	if l.whole = ok && int(slot) < v.n && v.has(slot) && x.id(slot) == id; !l.whole {
		return false
	}
	if x.coded {
		l.err = x.codes.rows.checkSlot(slot)
	} else {
		l.err = x.rows.checkSlot(slot)
	}
	if l.err != nil {
		return false
	}
	s.slots[l.n] = slot
	if l.n++; l.n == flatBlock {
		s.apart(l.n)
		l.n, l.err = 0, s.o.done()
	}
	return l.err == nil
}

// ready checks the context and prepares a chunk for comparison.
func (s *scanner) ready(chunk int) error {
	if err := s.o.done(); err != nil {
		return err
	}
	if x := s.v.mem; x.coded {
		return x.codes.rows.check(chunk)
	}
	return s.v.mem.rows.check(chunk)
}

// pick writes those of the n slots from from on that are live and allowed into out.
func (s *scanner) pick(out []uint32, from, n int) int {
	m := s.v.pick(out, from, n)
	if s.o.Allow == nil {
		return m
	}
	k := 0
	for _, slot := range out[:m] {
		if s.o.Allow(s.v.mem.id(slot)) {
			out[k] = slot
			k++
		}
	}
	return k
}

// run compares with n consecutive live slots.
func (s *scanner) run(from, n int) {
	x := s.v.mem
	if x.coded {
		if rows := x.codes.rows.run(from, n); x.codes.by == byInt4 {
			vec.DotInt4Rows(s.dots[:n], s.q.code, rows)
		} else {
			vec.DotInt8Rows(s.dots[:n], s.q.code, rows)
		}
		s.takeDots(from, n)
		return
	}
	for i := range n {
		s.slots[i] = uint32(from + i)
	}
	x.m.rows(s.dist[:n], s.q.row, x.rows.run(from, n))
	s.takeDistances(n)
}

// apart compares the query with the first n of s.slots.
func (s *scanner) apart(n int) {
	x := s.v.mem
	if x.coded {
		x.codes.find(&s.at, s.slots[:n])
		x.codes.dots(s.dots[:n], &s.q, s.at.rows)
		s.takeDots(-1, n)
		return
	}
	for i := 0; i < n; i += 4 {
		for _, slot := range s.slots[i:min(n, i+4)] {
			s.g.add(slot, x.rows.row(slot))
		}
		_, dist := s.g.flush()
		copy(s.dist[i:], dist)
	}
	s.takeDistances(n)
}

// takeDistances processes the first n slots, whose distances are computed.
func (s *scanner) takeDistances(n int) {
	for i, d := range s.dist[:n] {
		if s.top.full() && d > s.top.heap[0].Distance {
			continue
		}
		if slot := s.slots[i]; s.may(slot) {
			s.top.push(Neighbor{s.v.mem.id(slot), d})
		}
	}
}

// takeDots processes n slots whose dots are computed: those from from on, or the first of
// s.slots if from is negative. Few slots are within the threshold, so the others are
// handled cheaply.
func (s *scanner) takeDots(from, n int) {
	c := &s.v.mem.codes
	f := &c.m.code
	one, slope, plain := f.one, f.slope*s.q.scale, c.m.unit && c.by == byInt8
	if f.squares {
		one += s.q.norm * s.q.norm
	}
	scales := s.at.scales
	if from >= 0 {
		scales = c.scales.run(from, n)
	}
	slot := func(i int) uint32 {
		if from < 0 {
			return s.slots[i]
		}
		return uint32(from + i)
	}
	for i, dot := range s.dots[:n] {
		scale := scales[i]
		d, err := one-slope*scale*float32(dot), s.perScale*scale+s.perNorm
		if f.squares {
			norm := c.norms.row(slot(i))[0]
			d += norm * norm
		}
		if !plain {
			err = s.err(slot(i))
		}
		if d-err > s.worst || !s.may(slot(i)) {
			continue
		}
		s.add(maybe{slot: slot(i), low: d - err}, d+err)
	}
	s.pruneIfLong()
}

// rescore offers the listed rows to s.top with their true distances.
func (s *scanner) rescore() error {
	s.prune()
	x := s.v.mem
	for i, m := range s.near {
		if i&255 == 255 {
			if err := s.o.done(); err != nil {
				return err
			}
		}
		if err := x.rows.checkSlot(m.slot); err != nil {
			return err
		}
		if s.g.addSlot(m.slot, x, m.slot) {
			s.flush()
		}
	}
	s.flush()
	return nil
}

// flush offers the gathered vectors to s.top.
func (s *scanner) flush() {
	slots, dist := s.g.flush()
	for i, slot := range slots {
		s.top.push(Neighbor{s.v.mem.id(slot), dist[i]})
	}
}

// bound prepares err (see vec.DotSlack). With int8, each component of e_p is at most half
// the scale of p; with four bits, the length of e_p is stored in lost.
func (s *scanner) bound() {
	x, q := s.v.mem, &s.q
	slope, dim := float64(x.m.code.slope), x.rows.dim
	decoded, lost := vec.LostInt8(q.row, q.code, q.scale)
	s.decoded = float32(slope * decoded * 1.0001)
	s.perScale = float32(slope * decoded * math.Sqrt(float64(dim)) / 2 * 1.0001)
	s.perNorm = float32(slope * (lost + vec.DotSlack(dim)*(decoded+lost)) * 1.0001)
}

// err bounds the difference between a row's exact distance and the distance of its codes.
func (s *scanner) err(slot uint32) float32 {
	c := &s.v.mem.codes
	scale, norm := c.scales.row(slot)[0], c.norm(slot)
	err := s.perScale*scale + s.perNorm*norm
	switch {
	case c.by == byInt4:
		err = s.decoded*c.lost(slot) + s.perNorm*norm
	case scale == 0: // too small for codes
		err = (s.decoded + s.perNorm) * norm
	}
	if c.m.code.squares { // and for the rounding of sums of squares
		err += 0x1p-20 * (s.q.norm*s.q.norm + norm*norm)
	}
	return err
}
