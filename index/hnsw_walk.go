package index

import (
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// cand is a node with its distance from the query.
type cand struct {
	d    float32
	slot uint32 // the bit expanded is set within walk
}

const expanded = 1 << 31

// walker is the working memory of one traversal of the graph. Its memory is reused.
type walker struct {
	scanner
	h      *hnsw
	mem    *memory  // has all that links lead to
	shared bool     // holds h.mu for reading
	steps  uint     // see pause
	err    error    // why the walk has ended: the context's, or ErrCorrupt
	seen   []uint64 // a bit a slot: been there since anew
	been   []uint32 // where
	pool   []cand
	near   []uint32
	queue  []uint32
	sel    []uint32
	spare  []uint32 // scratch of choose
	dist   []float32
	heap   []cand
	from   []cand // where a walk begins
	come   []cand // scratch of walk
	code   []int8 // of the node whose distances choose asks for
	sels   found  // the codes of what choose has taken
	dist4  [4]float32

	centred []float32 // the query beyond the pivots' mean
	signs   vec.SignQuery
	scores  []float32 // of the pivots
}

func newWalker(h *hnsw) *walker {
	w := &walker{h: h}
	w.init(h.mem.Load(), &h.slots)
	w.code = make([]int8, len(w.q.code))
	return w
}

// share lets the walker read the graph concurrently with the writer until done.
func (w *walker) share() {
	w.h.mu.RLock()
	w.mem, w.shared, w.err = w.h.mem.Load(), true, nil
}

func (w *walker) done() {
	w.shared = false
	w.h.mu.RUnlock()
}

// pause is called before a node of layer 0 is expanded. Every 64 nodes it checks the context and lets a
// writer continue. It reports whether the walk must end.
func (w *walker) pause() bool {
	if w.steps++; w.steps&63 == 0 && w.err == nil {
		w.err = w.o.done()
		if w.shared {
			w.h.mu.RUnlock()
			w.h.mu.RLock()
			w.mem = w.h.mem.Load()
		}
	}
	return w.err != nil
}

// links returns the checked slots that a node links to.
func (w *walker) links(slot uint32, layer int) []uint32 {
	if layer == 0 && w.h.lazy != nil {
		if err := w.h.lazy.check(int(slot >> linkBits)); err != nil {
			w.err = err
			return nil
		}
	}
	return w.h.links(slot, layer)
}

// end drops references to the caller's data and to memory that the index may free.
func (w *walker) end() {
	w.scanner.end()
	w.mem = nil
	clear(w.sels.rows[:cap(w.sels.rows)])
}

// anew clears the record of visited nodes. At a bit a slot, it fits into the nearest cache for a hundred
// thousand slots; walk numbers would not.
func (w *walker) anew() {
	for _, s := range w.been {
		w.seen[s>>6] = 0
	}
	w.been = w.been[:0]
	if len(w.seen) < w.h.n>>6+1 {
		w.seen = make([]uint64, (w.h.n+w.h.n/4)>>6+64)
	}
}

// visit reports whether slot was not visited since anew. It skips nodes that were added later.
func (w *walker) visit(slot uint32) bool {
	if int(slot>>6) >= len(w.seen) {
		return false
	}
	word, bit := &w.seen[slot>>6], uint64(1)<<(slot&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	w.been = append(w.been, slot)
	return true
}

// expand visits the nodes that a node links to.
func (w *walker) expand(c *cand, layer int) {
	slot := c.slot
	c.slot |= expanded
	w.fresh(w.links(slot, layer))
}

// fresh visits slots and returns those that were not visited since anew, valid until the next call. It has no
// branch to predict: half of the predictions would be wrong.
func (w *walker) fresh(slots []uint32) []uint32 {
	from, n := len(w.been), 0
	w.been = slices.Grow(w.been, len(slots))
	been, seen := w.been[from:from+len(slots)], w.seen
	for _, s := range slots {
		if int(s>>6) >= len(seen) {
			continue
		}
		word := &seen[s>>6]
		old := *word
		*word = old | 1<<(s&63)
		been[n] = s
		n += int(^old >> (s & 63) & 1)
	}
	w.been = w.been[:from+n]
	return w.been[from:]
}

// distances returns the distances from q to the vectors in slots, by codes if there are any; valid until the
// next call.
func (w *walker) distances(q *query, slots []uint32) []float32 {
	n := len(slots)
	if need := n + 3; cap(w.dist) < need {
		w.dist = make([]float32, need+64)
	}
	dist := w.dist[:cap(w.dist)]
	if w.mem.coded {
		w.find(&w.at, slots)
		w.mem.codes.distances(dist, q, slots, &w.at)
		return dist[:n]
	}
	r, m, v := &w.mem.rows, w.h.m, q.row
	for _, slot := range slots { // what follows, the CPU guesses
		vec.Prefetch(r.row(slot), min(256, 4*w.h.o.Dim))
	}
	if r.lazy != nil {
		checkRows(w, r, slots)
	}
	i := 0
	for ; i+4 <= n; i += 4 {
		s := slots[i : i+4 : i+4]
		m.four((*[4]float32)(dist[i:]), v, r.row(s[0]), r.row(s[1]), r.row(s[2]), r.row(s[3]))
	}
	if i < n {
		a := r.row(slots[i])
		b, c := a, a
		if i+1 < n {
			b = r.row(slots[i+1])
		}
		if i+2 < n {
			c = r.row(slots[i+2])
		}
		m.four((*[4]float32)(dist[i:]), v, a, b, c, a)
	}
	return dist[:n]
}

// find looks up the locations of the codes of slots, and checks them.
func (w *walker) find(f *found, slots []uint32) {
	c := &w.mem.codes
	c.find(f, slots) // first, for what is on its way while the checks are made
	if c.rows.lazy != nil {
		checkRows(w, &c.rows, slots)
	}
}

// distance from q to one vector.
func (w *walker) distance(q *query, slot uint32) float32 {
	w.near = append(w.near[:0], slot)
	return w.distances(q, w.near)[0]
}

// descend goes from the entry to the nearest node it can find on each layer
// above to, always to the nearest neighbour (algorithm 2 with ef = 1).
func (w *walker) descend(q *query, to int) cand {
	h := w.h
	best := cand{w.distance(q, h.entry), h.entry}
	for layer := h.top; layer > to; layer-- {
		for moved := true; moved; {
			moved = false
			links := w.links(best.slot, layer)
			for i, d := range w.distances(q, links) {
				if d < best.d {
					best, moved = cand{d, links[i]}, true
				}
			}
		}
	}
	return best
}

// walk finds the ef nearest nodes it can on a layer (algorithm 2), ascending. The pool is one sorted list in which each
// node is expanded once, nearest first, until none is left to expand; if it is full on layer 0, two at a time. from are
// the start nodes, ascending. The caller must have called anew.
func (w *walker) walk(q *query, from []cand, ef, layer int) []cand {
	h := w.h
	p := append(w.pool[:0], from[:min(len(from), ef)]...)
	for _, c := range p {
		w.visit(c.slot)
	}
	for i := 0; i < len(p); {
		if p[i].slot&expanded != 0 {
			i++
			continue
		}
		if layer == 0 && w.pause() {
			break
		}
		first, next := len(w.been), i+1
		w.expand(&p[i], layer)
		if layer == 0 && len(p) == ef { // two at once: one's rows come while the other's are compared
			for next < ef && p[next].slot&expanded != 0 {
				next++
			}
			if next < ef {
				w.expand(&p[next], 0)
				next++
			}
		}
		if layer == 0 { // often the nodes to expand next
			for _, c := range p[next:min(len(p), next+2)] {
				l := h.room(c.slot &^ expanded)
				vec.Prefetch(l, 4*len(l))
				vec.Prefetch(h.node(c.slot &^ expanded).out[c.slot&nodeMask:], 2)
			}
		}
		near, come, full, bar := w.been[first:], w.come[:0], len(p) == ef, p[len(p)-1].d
		for k, d := range w.distances(q, near) {
			if !full || d < bar {
				come = append(come, cand{d, near[k]})
			}
		}
		var at int
		p, at = mergeCands(p, come, ef)
		w.come, i = come, min(next, at)
	}
	for i := range p {
		p[i].slot &^= expanded
	}
	w.pool = p
	return p
}

// insertCand inserts c into the ascending list p, keeps at most max entries, and returns c's position.
func insertCand(p []cand, c cand, max int) ([]cand, int) {
	at, end := 0, len(p)
	for at < end {
		if mid := int(uint(at+end) / 2); p[mid].d <= c.d {
			at = mid + 1
		} else {
			end = mid
		}
	}
	if len(p) < max {
		p = append(p, cand{})
	}
	copy(p[at+1:], p[at:])
	p[at] = c
	return p, at
}

// mergeCands merges come into the ascending list p, after equal entries, keeps the nearest max, and returns
// the position of the first new one. It sorts come.
func mergeCands(p, come []cand, max int) ([]cand, int) {
	for i := 1; i < len(come); i++ {
		c, at := come[i], i
		for ; at > 0 && come[at-1].d > c.d; at-- {
			come[at] = come[at-1]
		}
		come[at] = c
	}
	i, j := len(p)-1, len(come)-1
	for i+j+2 > max { // the farthest go
		if i < 0 || j >= 0 && come[j].d >= p[i].d {
			j--
		} else {
			i--
		}
	}
	n := i + j + 2
	p = slices.Grow(p[:i+1], j+1)[:n]
	at := n
	for ; j >= 0; j-- { // from behind, so that each is moved once
		c, end := come[j], i
		for ; i >= 63 && p[i-63].d > c.d; i -= 64 {
		}
		for ; i >= 7 && p[i-7].d > c.d; i -= 8 {
		}
		for ; i >= 0 && p[i].d > c.d; i-- {
		}
		at -= end - i
		copy(p[at:], p[i+1:end+1])
		at--
		p[at] = c
	}
	return p, at
}

// checkRows checks slots before they are read, and ends the walk on damage.
func checkRows[T float32 | int8 | uint64](w *walker, a *arena[T], slots []uint32) {
	for _, slot := range slots {
		if err := a.checkSlot(slot); err != nil {
			w.err = err
			return
		}
	}
}
