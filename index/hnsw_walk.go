package index

import "github.com/lexsem/lexsem/internal/vec"

// cand is a node with its distance from the query.
type cand struct {
	d    float32
	slot uint32 // the bit expanded is set within walk
}

const expanded = 1 << 31

// walker is what one traversal of the graph needs. Its space is kept.
type walker struct {
	h     *hnsw
	seen  []uint64 // a bit a slot: been there since begin
	been  []uint32 // where
	pool  []cand
	near  []uint32
	queue []uint32
	sel   []uint32
	dist  []float32
	heap  []cand
	top   topK
	g     gather
	q     query // of a search; g has the same vector
	scans codeScan
	// is and pick are filters for codes.scan: live nodes, and those that allow
	// lets through; made once, so that searches allocate nothing.
	is    func(slot uint32) bool
	pick  picker
	allow func(id uint64) bool
}

func newWalker(h *hnsw) *walker {
	w := &walker{h: h, g: gather{m: h.m, rows: &h.rows, q: make([]float32, h.o.Dim)}}
	w.q.row = w.g.q
	if h.codes != nil {
		w.q.code = make([]int8, h.o.Dim)
	}
	w.is = func(slot uint32) bool { return h.state(slot) == live }
	w.pick = func(from int, out []uint32) (int, int) {
		n, allow := 0, w.allow
		for from < h.n && n < len(out) {
			c, end := h.nodes[from>>nodeBits], min(h.n, (from|nodeMask)+1)
			for ; from < end && n < len(out); from++ {
				if i := from & nodeMask; c.state[i] == live && allow(c.ids[i]) {
					out[n] = uint32(from)
					n++
				}
			}
		}
		return n, from
	}
	return w
}

// ask makes v, checked, the query.
func (w *walker) ask(v []float32) {
	w.h.m.put(w.q.row, v)
	if c := w.h.codes; c != nil {
		c.fill(&w.q)
	}
}

// begin forgets where the walker has been. A bit a slot stays in the nearest
// cache for a hundred thousand slots; numbers of the walk in their place would
// not.
func (w *walker) begin() {
	for _, s := range w.been {
		w.seen[s>>6] = 0
	}
	w.been = w.been[:0]
	if len(w.seen) < w.h.n>>6+1 {
		w.seen = make([]uint64, (w.h.n+w.h.n/4)>>6+64)
	}
}

// visit reports whether slot is new since begin.
func (w *walker) visit(slot uint32) bool {
	word, bit := &w.seen[slot>>6], uint64(1)<<(slot&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	w.been = append(w.been, slot)
	return true
}

// distances from q to the vectors in slots, by codes where there are any; valid
// until the next call.
func (w *walker) distances(q *query, slots []uint32) []float32 {
	n := len(slots)
	if need := n + 3; cap(w.dist) < need {
		w.dist = make([]float32, need+64)
	}
	dist := w.dist[:cap(w.dist)]
	if c := w.h.codes; c != nil {
		c.distances(dist, q, slots)
		return dist[:n]
	}
	r, m, v := &w.h.rows, w.h.m, q.row
	for _, slot := range slots { // what follows, the CPU guesses
		vec.Prefetch(r.row(slot), min(256, 4*w.h.o.Dim))
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
			links := h.links(best.slot, layer)
			for i, d := range w.distances(q, links) {
				if d < best.d {
					best, moved = cand{d, links[i]}, true
				}
			}
		}
	}
	return best
}

// walk finds the ef nearest nodes it can on a layer (algorithm 2), ascending.
// The pool is one sorted list in which each node is expanded once, nearest
// first, until there is none left to expand. begin must have been called.
func (w *walker) walk(q *query, from cand, ef, layer int) []cand {
	h := w.h
	w.visit(from.slot)
	p := append(w.pool[:0], from)
	for i := 0; i < len(p); {
		if p[i].slot&expanded != 0 {
			i++
			continue
		}
		slot := p[i].slot
		p[i].slot |= expanded
		near := w.near[:0]
		for _, s := range h.links(slot, layer) {
			if w.visit(s) {
				near = append(near, s)
			}
		}
		w.near = near
		next := i + 1
		if next < len(p) && layer == 0 { // often the node to expand next
			l := h.room(p[next].slot &^ expanded)
			vec.Prefetch(l, 4*len(l))
		}
		for k, d := range w.distances(q, near) {
			if len(p) == ef && d >= p[ef-1].d {
				continue
			}
			var at int
			p, at = insertCand(p, cand{d, near[k]}, ef)
			next = min(next, at)
		}
		i = next
	}
	for i := range p {
		p[i].slot &^= expanded
	}
	w.pool = p
	return p
}

// insertCand puts c into the ascending list p, which it keeps at no more than
// max entries, and returns the place.
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
