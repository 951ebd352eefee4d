package inverted

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
)

// Search is MaxScore over windows of slots, with a bound for each block.
//
// The slots are cut into windows. In each, every term has a bound: the highest
// contribution of its blocks there. Terms whose bounds together stay below the k-th best
// score so far cannot lift a document into the answer alone, and are set aside. The
// contributions of the other terms are summed in an array. Only documents that could pass
// the threshold with the bounds of the set-aside terms are looked up in their postings,
// highest bound first, fewer each time. If no term is left, the window is skipped without
// decoding anything. The answer equals that of scoring every document: sums are only
// compared with a margin for rounding, and if a sum was computed in another order, best
// asks query.score for the final score.
//
// A window of 4,096 sums is 32 KiB, the size of a first-level cache.
const (
	window = 4096
	room   = 1 + 1e-9
)

// Scored is a document and its score. Higher is better.
type Scored struct {
	ID    uint64
	Score float64
}

// better orders answers: by score, ties by the lower id.
func better(a, b Scored) bool { return a.Score > b.Score || a.Score == b.Score && a.ID < b.ID }

// cursor walks the postings of one term.
type cursor struct {
	view
	weight float64
	b      int // block at hand; the tail is the last one
	read   int // block that p holds, -1 for none
	pos    int // in p: first posting not passed
	tail   block
	bound  float64 // in the current window
	here   bool    // has a block in the current window
	aside  bool    // not needed in the current window
	p      postings
}

// scratch is the reusable memory of a search.
type scratch struct {
	q       query
	cursors []cursor
	order   []int     // cursors, ascending by bound
	rest    []float64 // rest[i]: sum of the bounds of order[:i]
	sums    [window]float64
	touched [window / 64]uint64
	lengths []uint32 // of the slots of the window
	found   []uint32 // slots that may still belong in the answer
	best    best
	spoilt  bool // a search ended where it should not: sums are not clear
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch() *scratch { return scratches.Get().(*scratch) }

// giveBack keeps s for the next search, unless the query was as long as a book.
func (s *scratch) giveBack() {
	if s.spoilt || len(s.cursors) > 1024 {
		return
	}
	for i := range s.cursors { // hold nothing of the index
		s.cursors[i].view = view{}
	}
	s.lengths, s.best.score = nil, nil
	scratches.Put(s)
}

// at returns block i of the cursor.
func (cu *cursor) at(i int) *block {
	if i < cu.full() {
		return cu.block(i)
	}
	return &cu.tail
}

// start puts the cursor before the first posting of a term. The tail, which still grows,
// has no stored bounds; they are computed here.
func (cu *cursor) start(c *core, term uint32, weight float64) (err error) {
	cu.weight, cu.b, cu.read, cu.pos = weight, 0, -1, 0
	if cu.view, err = c.view(term); err != nil {
		return err
	}
	if cu.n%blockLen == 0 {
		return nil
	}
	if err := cu.decode(&cu.p, cu.full()); err != nil {
		return err
	}
	cu.read = cu.full()
	cu.tail, err = c.bound(&cu.p)
	return err
}

// seek moves to the first block that reaches slot or beyond and returns the lowest slot
// from slot on that may have a posting; ok is false at the end.
func (cu *cursor) seek(slot uint32) (first uint32, ok bool) {
	for n := cu.all(); ; cu.b++ {
		if cu.b == n {
			return 0, false
		}
		if cu.at(cu.b).next > slot {
			break
		}
	}
	if cu.read == cu.b {
		return max(slot, cu.p.slots[0]), true
	}
	if cu.b > 0 {
		return max(slot, cu.at(cu.b-1).next), true
	}
	return slot, true
}

// load decodes the current block and skips the postings before slot.
func (cu *cursor) load(slot uint32) error {
	if cu.read != cu.b {
		cu.read = -1
		if err := cu.decode(&cu.p, cu.b); err != nil {
			return err
		}
		cu.read, cu.pos = cu.b, 0
	} else if cu.pos > 0 && cu.p.slots[cu.pos-1] >= slot {
		cu.pos = 0
	}
	for cu.pos < cu.p.n && cu.p.slots[cu.pos] < slot {
		cu.pos++
	}
	return nil
}

// search appends the k best allowed documents to dst, best first.
func (s *scratch) search(ctx context.Context, dst []Scored, c *core, k int, allow func(uint64) bool) ([]Scored, error) {
	err := s.find(ctx, c, k, allow, func(x *near) (err error) {
		x.Score, err = s.q.score(c, x.slot)
		return err
	})
	if err != nil {
		return dst, err
	}
	for _, x := range s.best.near {
		dst = append(dst, x.Scored)
	}
	return dst, nil
}

// find leaves the k best allowed documents in s.best.near, best first; score computes the
// score of one. It checks ctx once for each window.
func (s *scratch) find(ctx context.Context, c *core, k int, allow func(uint64) bool, score func(*near) error) error {
	q := &s.q
	for len(s.cursors) < len(q.terms) {
		s.cursors = append(s.cursors, cursor{})
	}
	cursors := s.cursors[:len(q.terms)]
	s.spoilt = true
	for i, t := range q.terms {
		if err := cursors[i].start(c, t.term, t.weight); err != nil {
			return err
		}
	}
	s.best.start(k, score)
	for from := uint32(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := c.len()
		for i := range cursors {
			if slot, ok := cursors[i].seek(from); ok {
				first = min(first, slot)
			}
		}
		if first >= c.len() {
			break
		}
		// A window begins with a word of dead, and is on one side of the border.
		from = first &^ 63
		end := min(from+window, c.len())
		if border := c.border(); from < border {
			end = min(end, border)
		}
		if err := s.window(ctx, c, cursors, from, end, allow); err != nil {
			return err
		}
		from = end
	}
	if err := s.best.settle(ctx); err != nil {
		return err
	}
	s.spoilt = false
	return nil
}

// window finds the answers among the slots [from, end).
func (s *scratch) window(ctx context.Context, c *core, cursors []cursor, from, end uint32, allow func(uint64) bool) (err error) {
	q := &s.q
	s.order = s.order[:0]
	for i := range cursors {
		cu := &cursors[i]
		cu.bound, cu.here, cu.aside = 0, false, false
		start := from
		for b, n := cu.b, cu.all(); b < n && start < end; b++ {
			bl := cu.at(b)
			cu.bound = max(cu.bound, q.bound(bl, cu.weight, c.weights))
			cu.here, start = true, bl.next
		}
		s.order = append(s.order, i)
	}
	aside := s.setAside(cursors)
	if aside == len(cursors) {
		return nil
	}
	if s.lengths, err = c.lengthsIn(from, end); err != nil {
		return err
	}
	for i := range cursors {
		if cursors[i].here && !cursors[i].aside {
			if err := s.add(&cursors[i], from, end); err != nil {
				return err
			}
		}
	}
	s.collect(c, from, s.rest[aside])
	for ; aside > 0 && len(s.found) > 0; aside-- {
		if cu := &cursors[s.order[aside-1]]; cu.here {
			if err := s.lookUp(cu, from, s.rest[aside-1]); err != nil {
				return err
			}
		}
	}
	return s.take(ctx, c, from, s.rest[len(s.rest)-1] > 0, allow)
}

// setAside marks the terms that are not needed in this window and returns how many of
// order they are.
func (s *scratch) setAside(cursors []cursor) int {
	s.rest = append(s.rest[:0], 0)
	least, full := s.best.least()
	if !full {
		return 0
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(cmp.Compare(cursors[a].bound, cursors[b].bound), a-b) })
	for n, i := range s.order {
		sum := s.rest[n] + cursors[i].bound
		if sum*room >= least {
			return n
		}
		s.rest = append(s.rest, sum)
		cursors[i].aside = true
	}
	return len(cursors)
}

// add adds the contributions of a term in a window to the sums.
func (s *scratch) add(cu *cursor, from, end uint32) error {
	for n := cu.all(); cu.b < n; cu.b++ {
		if err := cu.load(from); err != nil {
			return err
		}
		p := &cu.p
		i := cu.pos
		for ; i < p.n && p.slots[i] < end; i++ {
			at := p.slots[i] - from
			s.touched[at/64] |= 1 << (at % 64)
			s.sums[at] += s.contribution(cu, at, p.values[i])
		}
		cu.pos = i
		if i < p.n || cu.at(cu.b).next >= end {
			return nil
		}
	}
	return nil
}

// collect finds the touched documents of a window that may be among the answers, if the
// terms set aside add at most rest.
func (s *scratch) collect(c *core, from uint32, rest float64) {
	s.found = s.found[:0]
	least, _ := s.best.least()
	for w, word := range s.touched {
		if word == 0 {
			continue
		}
		dead := c.dead.At(int(from/64) + w)
		for ; word != 0; word &= word - 1 {
			at := uint32(w*64 + bits.TrailingZeros64(word))
			if (s.sums[at]+rest)*room >= least && dead>>(at%64)&1 == 0 {
				s.found = append(s.found, from+at)
			} else {
				s.sums[at] = 0
			}
		}
		s.touched[w] = 0
	}
}

// lookUp adds the contributions of a set-aside term to the candidates, and drops those
// that cannot pass the threshold with the rest.
func (s *scratch) lookUp(cu *cursor, from uint32, rest float64) error {
	least, _ := s.best.least()
	kept, n := s.found[:0], cu.all()
	for _, slot := range s.found {
		at := slot - from
		for cu.b < n && cu.at(cu.b).next <= slot {
			cu.b++
		}
		if cu.b < n {
			if err := cu.load(slot); err != nil {
				return err
			}
			if p := &cu.p; cu.pos < p.n && p.slots[cu.pos] == slot {
				s.sums[at] += s.contribution(cu, at, p.values[cu.pos])
			}
		}
		if (s.sums[at]+rest)*room >= least {
			kept = append(kept, slot)
		} else {
			s.sums[at] = 0
		}
	}
	s.found = kept
	return nil
}

// contribution is the contribution of a posting of the slot at in the window.
func (s *scratch) contribution(cu *cursor, at, value uint32) float64 {
	if cu.weights {
		return float64(cu.weight * weightOf(value))
	}
	return s.q.saturate(cu.weight, value, s.lengths[at])
}

// take offers the documents found. Their sums are the final scores, unless terms were
// added in another order than the query's.
func (s *scratch) take(ctx context.Context, c *core, from uint32, reordered bool, allow func(uint64) bool) error {
	for _, slot := range s.found {
		sum := s.sums[slot-from]
		s.sums[slot-from] = 0
		if !s.best.mayTake(sum) {
			continue
		}
		id, err := c.id(slot)
		if err != nil {
			return err
		}
		x := near{Scored: Scored{id, sum}, slot: slot, exact: !reordered}
		if s.best.beaten(x) || allow != nil && !allow(id) {
			continue
		}
		if s.best.offer(x) {
			if err := s.best.settle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
