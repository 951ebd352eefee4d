package inverted

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
)

// Search is MaxScore over windows of the slots with a bound per block.
//
// The slots are cut into windows. In each, every term has a bound: the best
// that its blocks there can contribute. Terms whose bounds together stay below
// the k-th best score so far cannot lift a document into the answer alone:
// they are set aside, the postings of the others are added up in an array, and
// only documents that could pass the threshold with the bounds of the terms set
// aside are looked up in the postings of these, the highest bound first, fewer
// each time. Where no term is needed the window is skipped without decoding
// anything. The answer is the same as that of scoring every document: sums are
// only compared with room for rounding, and the score that counts is always
// that of query.score.
//
// A window of 4,096 sums is 32 KiB, the size of a first-level cache.
const (
	window = 4096
	room   = 1 + 1e-9
)

// Scored is a document and its score; higher is better.
type Scored struct {
	ID    uint64
	Score float64
}

// better orders answers: by score, ties by the lower id.
func better(a, b Scored) bool { return a.Score > b.Score || a.Score == b.Score && a.ID < b.ID }

// cursor walks the postings of one term.
type cursor struct {
	l      *list
	weight float64
	b      int // block at hand; the tail is len(l.blocks)
	read   int // block that p holds, -1 for none
	pos    int // in p: first posting not passed
	tail   block
	bound  float64 // in the current window
	here   bool    // has a block in the current window
	aside  bool    // not needed in the current window
	p      postings
}

// scratch is what a search needs; it is used again.
type scratch struct {
	q       query
	cursors []cursor
	order   []int     // cursors, ascending by bound
	rest    []float64 // rest[i]: sum of the bounds of order[:i]
	sums    [window]float64
	touched [window / 64]uint64
	found   []uint32 // slots that may still belong in the answer
	heap    []Scored
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch() *scratch { return scratches.Get().(*scratch) }

// giveBack keeps s for the next search, unless the query was a whole book.
func (s *scratch) giveBack() {
	if len(s.cursors) <= 1024 {
		scratches.Put(s)
	}
}

// blocks is the number of blocks with the tail.
func (cu *cursor) blocks() int {
	n := len(cu.l.blocks)
	if cu.l.n%blockLen != 0 {
		n++
	}
	return n
}

func (cu *cursor) block(i int) *block {
	if i < len(cu.l.blocks) {
		return &cu.l.blocks[i]
	}
	return &cu.tail
}

// start puts the cursor before the first posting of a list. The tail has no
// bounds yet, it grows; so it gets them here.
func (cu *cursor) start(l *list, weight float64, lengths []uint32) {
	cu.l, cu.weight, cu.b, cu.read, cu.pos = l, weight, 0, -1, 0
	if l.n%blockLen == 0 {
		return
	}
	cu.p.decode(l, len(l.blocks), lengths == nil)
	cu.read = len(l.blocks)
	cu.tail = newBlock()
	cu.tail.next = l.next
	for i := range cu.p.n {
		if lengths == nil {
			cu.tail.top = max(cu.tail.top, cu.p.values[i])
		} else {
			cu.tail.take(cu.p.values[i], lengths[cu.p.slots[i]])
		}
	}
}

// seek moves to the first block that reaches slot or beyond and returns the
// lowest slot from slot on that may have a posting; ok is false at the end.
func (cu *cursor) seek(slot uint32) (first uint32, ok bool) {
	for n := cu.blocks(); ; cu.b++ {
		if cu.b == n {
			return 0, false
		}
		if cu.block(cu.b).next > slot {
			break
		}
	}
	if cu.read == cu.b {
		if cu.p.slots[0] >= slot {
			return cu.p.slots[0], true
		}
		return slot, true
	}
	if cu.b > 0 {
		return max(slot, cu.l.blocks[cu.b-1].next), true
	}
	return slot, true
}

// load decodes the block at hand and passes the postings before slot.
func (cu *cursor) load(slot uint32, weights bool) {
	if cu.read != cu.b {
		cu.p.decode(cu.l, cu.b, weights)
		cu.read, cu.pos = cu.b, 0
	} else if cu.pos > 0 && cu.p.slots[cu.pos-1] >= slot {
		cu.pos = 0
	}
	for cu.pos < cu.p.n && cu.p.slots[cu.pos] < slot {
		cu.pos++
	}
}

// search appends the k best allowed documents to dst, best first.
func (s *scratch) search(dst []Scored, c *core, k int, allow func(uint64) bool) []Scored {
	q := &s.q
	for len(s.cursors) < len(q.terms) {
		s.cursors = append(s.cursors, cursor{})
	}
	cursors := s.cursors[:len(q.terms)]
	for i, t := range q.terms {
		cursors[i].start(&c.lists[t.term], t.weight, c.lengths)
	}
	s.heap = s.heap[:0]
	for from := uint32(0); ; {
		first, any := ^uint32(0), false
		for i := range cursors {
			if slot, ok := cursors[i].seek(from); ok {
				first, any = min(first, slot), true
			}
		}
		if !any {
			break
		}
		from = first
		s.window(c, cursors, from, k, allow)
		from += window
	}
	slices.SortFunc(s.heap, func(a, b Scored) int {
		if better(a, b) {
			return -1
		}
		return 1
	})
	return append(dst, s.heap...)
}

// window finds the answers among the slots [from, from+window).
func (s *scratch) window(c *core, cursors []cursor, from uint32, k int, allow func(uint64) bool) {
	q, end := &s.q, from+window
	s.order = s.order[:0]
	for i := range cursors {
		cu := &cursors[i]
		cu.bound, cu.here, cu.aside = 0, false, false
		start := from
		for b, n := cu.b, cu.blocks(); b < n && start < end; b++ {
			bl := cu.block(b)
			cu.bound = max(cu.bound, q.bound(bl, cu.weight, c.weights))
			cu.here, start = true, bl.next
		}
		s.order = append(s.order, i)
	}
	aside := s.setAside(cursors, k)
	if aside == len(cursors) {
		return
	}
	for i := range cursors {
		if cursors[i].here && !cursors[i].aside {
			s.add(c, &cursors[i], from, end)
		}
	}
	s.collect(c, from, s.rest[aside], k)
	for ; aside > 0 && len(s.found) > 0; aside-- {
		if cu := &cursors[s.order[aside-1]]; cu.here {
			s.lookUp(c, cu, from, s.rest[aside-1])
		}
	}
	s.take(c, from, s.rest[len(s.rest)-1] > 0, k, allow)
}

// setAside marks the terms that are not needed in this window and returns how
// many of order they are.
func (s *scratch) setAside(cursors []cursor, k int) int {
	s.rest = append(s.rest[:0], 0)
	if len(s.heap) < k {
		return 0
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(cmp.Compare(cursors[a].bound, cursors[b].bound), a-b) })
	for n, i := range s.order {
		sum := s.rest[n] + cursors[i].bound
		if sum*room >= s.heap[0].Score {
			return n
		}
		s.rest = append(s.rest, sum)
		cursors[i].aside = true
	}
	return len(cursors)
}

// add adds the contributions of a term in a window to the sums.
func (s *scratch) add(c *core, cu *cursor, from, end uint32) {
	for n := cu.blocks(); cu.b < n; cu.b++ {
		cu.load(from, c.weights)
		p := &cu.p
		i := cu.pos
		for ; i < p.n && p.slots[i] < end; i++ {
			slot := p.slots[i]
			at := slot - from
			s.touched[at/64] |= 1 << (at % 64)
			s.sums[at] += s.contribution(c, cu, slot, p.values[i])
		}
		cu.pos = i
		if i < p.n || cu.block(cu.b).next >= end {
			return
		}
	}
}

// collect finds the touched documents of a window that may belong in the
// answer, when the terms set aside add at most rest.
func (s *scratch) collect(c *core, from uint32, rest float64, k int) {
	s.found = s.found[:0]
	least := 0.0
	if len(s.heap) == k {
		least = s.heap[0].Score
	}
	for w, word := range s.touched {
		for ; word != 0; word &= word - 1 {
			at := uint32(w*64 + bits.TrailingZeros64(word))
			if (s.sums[at]+rest)*room >= least && c.isAlive(from+at) {
				s.found = append(s.found, from+at)
			} else {
				s.sums[at] = 0
			}
		}
		s.touched[w] = 0
	}
}

// lookUp adds what a term set aside contributes to the documents found, and
// forgets those that cannot pass the threshold with the rest.
func (s *scratch) lookUp(c *core, cu *cursor, from uint32, rest float64) {
	least, kept, n := s.heap[0].Score, s.found[:0], cu.blocks()
	for _, slot := range s.found {
		at := slot - from
		for cu.b < n && cu.block(cu.b).next <= slot {
			cu.b++
		}
		if cu.b < n {
			cu.load(slot, c.weights)
			if p := &cu.p; cu.pos < p.n && p.slots[cu.pos] == slot {
				s.sums[at] += s.contribution(c, cu, slot, p.values[cu.pos])
			}
		}
		if (s.sums[at]+rest)*room >= least {
			kept = append(kept, slot)
		} else {
			s.sums[at] = 0
		}
	}
	s.found = kept
}

func (s *scratch) contribution(c *core, cu *cursor, slot, value uint32) float64 {
	if c.weights {
		return float64(cu.weight * weightOf(value))
	}
	return s.q.saturate(cu.weight, value, c.lengths[slot])
}

// take offers the documents found. Their sums are scores already, unless some
// of the terms came in another order than that of the query.
func (s *scratch) take(c *core, from uint32, reordered bool, k int, allow func(uint64) bool) {
	for _, slot := range s.found {
		sum := s.sums[slot-from]
		s.sums[slot-from] = 0
		if len(s.heap) == k {
			if worst := s.heap[0]; sum*room < worst.Score || !reordered && !better(Scored{c.ids[slot], sum}, worst) {
				continue
			}
		}
		if allow != nil && !allow(c.ids[slot]) {
			continue
		}
		if reordered {
			sum = s.q.score(c, slot)
		}
		s.offer(Scored{c.ids[slot], sum}, k)
	}
}

// offer keeps the k best in a heap with the worst on top.
func (s *scratch) offer(x Scored, k int) {
	h := s.heap
	if len(h) < k {
		h = append(h, x)
		for i := len(h) - 1; i > 0; {
			up := (i - 1) / 2
			if !better(h[up], h[i]) {
				break
			}
			h[up], h[i] = h[i], h[up]
			i = up
		}
		s.heap = h
		return
	}
	if !better(x, h[0]) {
		return
	}
	h[0] = x
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < k; child++ {
			if better(h[worst], h[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		h[i], h[worst] = h[worst], h[i]
		i = worst
	}
}
