package index

import (
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// Costs of the ways to search, relative to one distance to a random vector. They decide between the graph
// and the comparison with all vectors.
const (
	costExpand = 16   // distances per node that the graph search expands
	costScan   = 0.25 // one vector in order
	costTail   = 0.35 // one vector beside the graph
	costCode   = 0.4  // the codes of one vector that the filter let through
)

func (h *hnsw) Search(dst []Neighbor, q []float32, o SearchOptions) ([]Neighbor, error) {
	got := dst
	err := guarded(func() (err error) {
		got, err = h.search(dst, q, o)
		return err
	})
	return got, err
}

func (h *hnsw) search(dst []Neighbor, q []float32, o SearchOptions) ([]Neighbor, error) {
	if o.K < 1 {
		return dst, fmt.Errorf("k is %d: %w", o.K, errBadK)
	}
	if err := h.m.checkQuery(q, h.o.Dim); err != nil {
		return dst, err
	}
	if o.Ef <= 0 {
		o.Ef = h.o.Ef
	}
	w := h.walkers.Get().(*walker)
	defer h.walkers.Put(w)
	r := h.views.Acquire()
	defer r.Release()
	if w.begin(r.Value, q, o) == 0 {
		return dst, o.done()
	}
	defer w.end()
	if err := h.find(w, max(w.top.k, o.Ef)); err != nil {
		return dst, err
	}
	order(w.top.heap)
	return append(dst, w.top.heap...), nil
}

// find fills w.top with the neighbours of w.q in the cheapest reliable way.
func (h *hnsw) find(w *walker, ef int) error {
	n := float64(w.v.n)
	all, graph := costScan*n, costExpand*float64(ef)+costTail*float64(len(w.v.tail))
	if w.o.Allow == nil {
		if graph < all {
			if found, err := h.searchGraph(w, ef); found || err != nil {
				return err
			}
			if found, err := h.searchFiltered(w, ef, int(all)); found || err != nil {
				return err
			}
		}
	} else {
		share, near := h.share(w), 1.0
		if w.v.mem.coded {
			near = costCode
		}
		all = (costAsk + share*near) * n
		if w.lists() {
			all = (costFind + near) * share * n
		}
		if share > 0 && graph/share < all {
			if found, err := h.searchFiltered(w, ef, int(all)); found || err != nil {
				return err
			}
		}
	}
	return w.scan()
}

// share is the share of slots with nodes that may be returned. If the filter does not tell, it is estimated
// from a sample of slots: 64, or one in 256 up to 256. With fewer slots, the share at which the graph pays
// is larger. The sampled slots are not equally spaced, since for example every second document may be of one
// kind.
func (h *hnsw) share(w *walker) float64 {
	if w.o.Among != nil {
		return min(1, float64(w.o.Allowed)/float64(w.v.n))
	}
	looks := min(w.v.n, max(64, min(256, w.v.n/256)))
	hits := 0
	for i := range uint64(looks) {
		from, to := int(i)*w.v.n/looks, int(i+1)*w.v.n/looks
		if slot := uint32(from + int(hash(i)%uint64(to-from))); w.v.has(slot) && w.o.Allow(w.v.mem.id(slot)) {
			hits++
		}
	}
	return float64(hits) / float64(looks)
}

// answer reports whether a node may be returned.
func (w *walker) answer(slot uint32) bool {
	return w.v.has(slot) && (w.o.Allow == nil || w.o.Allow(w.v.mem.id(slot))) && w.may(slot)
}

// searchGraph is the plain search of the paper (algorithm 5). It reports whether the result can be used:
// nearly all of the pool, and at least k nodes of it, may be returned.
func (h *hnsw) searchGraph(w *walker, ef int) (found bool, err error) {
	pool := h.pool(w, ef)
	if w.err != nil {
		return false, w.err
	}
	full := len(pool)
	pool = slices.DeleteFunc(pool, func(c cand) bool { return !w.answer(c.slot) })
	if len(pool) < full-full/8 {
		return false, nil
	}
	pool = w.addTail(pool, ef)
	if w.err != nil || len(pool) < w.top.k {
		return false, w.err
	}
	return w.offer(pool)
}

func (h *hnsw) pool(w *walker, ef int) []cand {
	w.share()
	defer w.done()
	if h.top < 0 { // and no tail: see shorten
		return nil
	}
	from := w.start(&w.q)
	w.anew()
	return w.walk(&w.q, from, ef, 0)
}

// searchFiltered walks the graph through all nodes, but collects only those that may be returned. It stops
// when the nearest unexpanded node is farther than the ef-th collected one. It gives up, and returns false,
// after the given number of distances, or if no node is left to expand before k are found.
func (h *hnsw) searchFiltered(w *walker, ef, budget int) (found bool, err error) {
	pool := h.filteredPool(w, ef, budget)
	if w.err != nil || pool == nil {
		return false, w.err
	}
	if pool = w.addTail(pool, ef); w.err != nil {
		return false, w.err
	}
	return w.offer(pool)
}

// filteredPool returns nil if it gives up.
func (h *hnsw) filteredPool(w *walker, ef, budget int) []cand {
	w.share()
	defer w.done()
	if h.top < 0 {
		return nil
	}
	q := &w.q
	from := w.start(q)
	w.anew()
	found := w.pool[:0]
	defer func() { w.pool = found }()
	w.heap = w.heap[:0]
	for _, c := range from[:min(len(from), ef)] {
		w.visit(c.slot)
		if w.answer(c.slot) {
			found = append(found, c)
		}
		w.pushNearest(c)
	}
	for len(w.heap) > 0 && (len(found) < ef || w.heap[0].d <= found[ef-1].d) {
		if w.pause() {
			return nil
		}
		slot := w.popNearest().slot
		near := w.fresh(w.links(slot, 0))
		if budget -= len(near); budget < 0 {
			return nil
		}
		for i, d := range w.distances(q, near) {
			if len(found) == ef && d >= found[ef-1].d {
				continue
			}
			w.pushNearest(cand{d, near[i]})
			if w.answer(near[i]) {
				found, _ = insertCand(found, cand{d, near[i]}, ef)
			}
		}
	}
	return found
}

// offer offers nodes that may be returned, ascending, to w.top and reports whether there were k of them.
func (w *walker) offer(pool []cand) (found bool, err error) {
	w.top.heap = w.top.heap[:0]
	if w.v.mem.coded {
		err = w.refine(pool)
		return w.top.full(), err
	}
	for _, c := range pool {
		if w.top.full() && c.d > w.top.heap[0].Distance {
			break // ascending: only ties could still enter
		}
		w.top.push(Neighbor{w.v.mem.id(c.slot), c.d})
	}
	return w.top.full(), nil
}

// refineAhead is the number of bytes at the start of a float32 row that refine prefetches. The CPU itself fetches the
// rest ahead; asking for all lines of long rows takes longer than it saves.
const refineAhead = 512

// refine offers nodes of pool, ascending by codes, to w.top with their true distances: the first k, and
// those that may be as near as the k-th within the error of the codes.
func (w *walker) refine(pool []cand) error {
	x, end, n := w.v.mem, infinite, 0
	for _, c := range pool {
		if c.d > end {
			break
		}
		if n < 8 { // those after them while these are compared
			vec.Prefetch(x.rows.row(c.slot), min(refineAhead, 4*w.h.o.Dim))
		}
		if n++; n == w.top.k {
			end = c.d + x.codes.doubt(&w.q, c.slot)
		}
	}
	for i, c := range pool[:n] {
		if i&255 == 255 {
			if err := w.o.done(); err != nil {
				return err
			}
		}
		if i+8 <= n {
			vec.Prefetch(x.rows.row(pool[i+7].slot), min(refineAhead, 4*w.h.o.Dim))
		}
		if err := x.rows.checkSlot(c.slot); err != nil {
			return err
		}
		if w.g.addSlot(c.slot, x, c.slot) {
			w.flush()
		}
	}
	w.flush()
	return nil
}

// pushNearest and popNearest keep the nearest node at the front of w.heap.
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
