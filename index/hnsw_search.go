package index

import (
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// Costs of the ways to search, in units of one distance to a vector out of
// order. They decide between the graph and the comparison with all.
const (
	costExpand = 16   // distances per node that the graph search expands
	costScan   = 0.25 // one vector in order
	costAsk    = 0.1  // one question to the filter
	costCode   = 0.4  // the codes of one vector that the filter let through
)

func (h *hnsw) Search(dst []Neighbor, q []float32, o SearchOptions) ([]Neighbor, error) {
	if o.K < 1 {
		return dst, fmt.Errorf("k is %d: %w", o.K, ErrBadK)
	}
	if err := h.m.checkQuery(q, h.o.Dim); err != nil {
		return dst, err
	}
	w := h.walkers.Get().(*walker)
	defer h.walkers.Put(w)
	w.ask(q)
	ef := o.Ef
	if ef <= 0 {
		ef = h.o.Ef
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	k := min(o.K, h.live)
	if k == 0 {
		return dst, nil
	}
	w.top = topK{heap: w.top.heap[:0], k: k, radius: infinite}
	h.search(w, max(k, ef), o.Allow)
	order(w.top.heap)
	return append(dst, w.top.heap...), nil
}

// search fills w.top with min(k, number allowed) neighbours of w.g.q, by the
// cheapest way that finds them.
func (h *hnsw) search(w *walker, ef int, allow func(uint64) bool) {
	all := costScan * float64(h.n)
	graph := costExpand * float64(ef)
	if allow == nil && h.hidden <= h.live/16 {
		if graph < all && h.searchGraph(w, ef) {
			return
		}
	} else {
		share, near := h.share(allow), 1.0
		if h.codes != nil {
			near = costCode
		}
		all = (costAsk + share*near) * float64(h.n)
		if share > 0 && graph/share < all && h.searchFiltered(w, ef, allow, int(all)) {
			return
		}
	}
	w.top.heap = w.top.heap[:0]
	h.scan(w, allow)
}

// share estimates what part of the slots hold nodes that may be returned, by a
// look at 64 of them, or one in 256 up to 256: the fewer slots there are, the
// larger the shares at which the graph begins to pay.
func (h *hnsw) share(allow func(uint64) bool) float64 {
	step := max(1, h.n/min(256, max(64, h.n/256)))
	var hits, n float64
	for i := 0; i < h.n; i += step {
		n++
		if h.allowed(uint32(i), allow) {
			hits++
		}
	}
	return hits / n
}

func (h *hnsw) allowed(slot uint32, allow func(uint64) bool) bool {
	return h.state(slot) == live && (allow == nil || allow(h.id(slot)))
}

// searchGraph is the plain search of the paper (algorithm 5). It reports
// whether it found k nodes; hidden ones may be in the way.
func (h *hnsw) searchGraph(w *walker, ef int) bool {
	q := &w.q
	from := w.descend(q, 0)
	w.begin()
	pool := w.walk(q, from, ef, 0)
	if h.codes != nil {
		w.rescore(pool)
		return w.top.full()
	}
	for _, c := range pool {
		if w.top.full() && c.d > w.top.heap[0].Distance {
			break // ascending: only ties could still enter
		}
		if h.state(c.slot) == live {
			w.top.push(Neighbor{h.id(c.slot), c.d})
		}
	}
	return w.top.full()
}

// searchFiltered walks the graph through nodes of every sort, but collects
// only those that may be returned: it goes on until the nearest node not yet
// expanded is farther than the ef-th of them. It gives up, and reports so,
// after the given number of distances, and if there is nothing left to expand
// before k are found.
func (h *hnsw) searchFiltered(w *walker, ef int, allow func(uint64) bool, budget int) bool {
	q := &w.q
	from := w.descend(q, 0)
	w.begin()
	w.visit(from.slot)
	found := w.pool[:0]
	if h.allowed(from.slot, allow) {
		found = append(found, from)
	}
	w.heap = append(w.heap[:0], from)
	for len(w.heap) > 0 && (len(found) < ef || w.heap[0].d <= found[ef-1].d) {
		slot := w.popNearest().slot
		near := w.near[:0]
		for _, s := range h.links(slot, 0) {
			if w.visit(s) {
				near = append(near, s)
			}
		}
		w.near = near
		if budget -= len(near); budget < 0 {
			w.pool = found
			return false
		}
		for i, d := range w.distances(q, near) {
			if len(found) == ef && d >= found[ef-1].d {
				continue
			}
			w.pushNearest(cand{d, near[i]})
			if h.allowed(near[i], allow) {
				found, _ = insertCand(found, cand{d, near[i]}, ef)
			}
		}
	}
	w.pool = found
	if h.codes != nil {
		w.rescore(found)
		return w.top.full()
	}
	for _, c := range found {
		w.top.push(Neighbor{h.id(c.slot), c.d})
	}
	return w.top.full()
}

// rescore offers the live ones of pool, ascending by codes, to w.top by their
// true distances: the first k, and what may be as near as the k-th for all that
// the codes tell.
func (w *walker) rescore(pool []cand) {
	h, w0 := w.h, w.near[:0]
	end := float32(math.Inf(1))
	for _, c := range pool {
		if c.d > end {
			break
		}
		if h.state(c.slot) != live {
			continue
		}
		w0 = append(w0, c.slot)
		if len(w0) < 8 { // those after them while these are compared
			vec.Prefetch(h.rows.row(c.slot), 4*h.o.Dim)
		}
		if len(w0) == w.top.k {
			end = c.d + h.codes.doubt(&w.q, c.slot)
		}
	}
	w.near = w0
	for i, slot := range w0 {
		if i+8 <= len(w0) {
			vec.Prefetch(h.rows.row(w0[i+7]), 4*h.o.Dim)
		}
		if w.g.add(slot) {
			w.flush()
		}
	}
	w.flush()
}

// flush offers the gathered vectors to w.top.
func (w *walker) flush() {
	slots, dist := w.g.flush()
	for i, s := range slots {
		w.top.push(Neighbor{w.h.id(s), dist[i]})
	}
}

// pushNearest and popNearest keep w.heap with the nearest first.
func (w *walker) pushNearest(c cand) {
	w.heap = append(w.heap, c)
	h := w.heap
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if h[p].d <= h[i].d {
			break
		}
		h[p], h[i] = h[i], h[p]
		i = p
	}
}

func (w *walker) popNearest() cand {
	h := w.heap
	root, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	w.heap = h
	for i := 0; len(h) > 0; {
		c := 2*i + 1
		if c+1 < len(h) && h[c+1].d < h[c].d {
			c++
		}
		if c >= len(h) || last.d <= h[c].d {
			h[i] = last
			break
		}
		h[i] = h[c]
		i = c
	}
	return root
}

// scan shows every node that may be returned to w.top.
func (h *hnsw) scan(w *walker, allow func(uint64) bool) {
	switch {
	case h.codes != nil:
		h.scanCodes(w, allow)
		return
	case allow == nil:
		h.scanAll(w)
		return
	}
	for i := range h.n {
		if slot := uint32(i); h.allowed(slot, allow) && w.g.add(slot) {
			w.flush()
		}
	}
	w.flush()
}

// scanCodes compares codes with all that may be returned, then the vectors of
// those that may be among the nearest.
func (h *hnsw) scanCodes(w *walker, allow func(uint64) bool) {
	if allow == nil {
		h.codes.scan(&w.scans, &w.q, h.n, w.top.k, w.top.radius, nil, w.is)
	} else {
		w.allow = allow
		h.codes.scan(&w.scans, &w.q, h.n, w.top.k, w.top.radius, w.pick, nil)
		w.allow = nil
	}
	for _, m := range w.scans.near {
		if w.g.add(m.slot) {
			w.flush()
		}
	}
	w.flush()
}

// scanAll computes distances to vacant and hidden slots as well: they are few,
// and the rows lie in order.
func (h *hnsw) scanAll(w *walker) {
	if cap(w.dist) < flatBlock {
		w.dist = make([]float32, flatBlock)
	}
	for from := 0; from < h.n; {
		rows, n := h.rows.run(from, min(flatBlock, h.n-from))
		dist := w.dist[:n]
		h.m.rows(dist, w.g.q, rows)
		for i, d := range dist {
			if w.top.full() && d > w.top.heap[0].Distance {
				continue
			}
			if slot := uint32(from + i); h.state(slot) == live {
				w.top.push(Neighbor{h.id(slot), d})
			}
		}
		from += n
	}
}
