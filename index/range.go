package index

import "fmt"

// RangeSearcher is an index that finds all vectors within a distance. Every
// index of this package is one.
type RangeSearcher interface {
	Index
	// SearchRange appends the vectors whose distance from q is at most radius
	// to dst, ascending by distance, ties by id; the nearest o.K of them if
	// that is not 0. Graphs may miss some; a larger o.Ef looks further around
	// what is found. The time grows with the number of answers. A radius that
	// is not a number is ErrBadRadius; under cosine and l2 a negative one has
	// no answers.
	SearchRange(dst []Neighbor, q []float32, radius float32, o SearchOptions) ([]Neighbor, error)
}

func checkRange(radius float32, o SearchOptions) error {
	switch {
	case radius != radius:
		return ErrBadRadius
	case o.K < 0:
		return fmt.Errorf("k is %d; 0 means all: %w", o.K, ErrBadK)
	}
	return nil
}

// atMost is k, at most n; n if k is 0.
func atMost(k, n int) int {
	if k == 0 {
		return n
	}
	return min(k, n)
}

func (f *flat) SearchRange(dst []Neighbor, q []float32, radius float32, o SearchOptions) ([]Neighbor, error) {
	if err := checkRange(radius, o); err != nil {
		return dst, err
	}
	return f.search(dst, q, radius, o)
}

func (h *hnsw) SearchRange(dst []Neighbor, q []float32, radius float32, o SearchOptions) ([]Neighbor, error) {
	if err := checkRange(radius, o); err != nil {
		return dst, err
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
	if h.live == 0 {
		return dst, nil
	}
	w.top = topK{heap: w.top.heap[:0], k: atMost(o.K, h.n), radius: radius}
	if all := costScan * float64(h.n); costExpand*float64(ef) >= all || !h.rangeGraph(w, ef, o.Allow, int(all)) {
		w.top.heap = w.top.heap[:0]
		h.scan(w, o.Allow)
	}
	order(w.top.heap)
	return append(dst, w.top.heap...), nil
}

// rangeGraph fills w.top. It walks on as long as the nearest node not yet
// expanded may lie within its radius or is nearer than the ef-th seen. It gives
// up, and reports so, after the given number of distances.
func (h *hnsw) rangeGraph(w *walker, ef int, allow func(uint64) bool, budget int) bool {
	q, radius := &w.q, w.top.radius
	if h.codes != nil {
		h.codes.bound(&w.scans, q)
	}
	from := w.descend(q, 0)
	w.begin()
	w.visit(from.slot)
	near, best, hits := w.near[:0], w.pool[:0], w.queue[:0]
	see := func(c cand) {
		reach := c.d
		if h.codes != nil {
			reach -= w.scans.err(c.slot)
		}
		in := reach <= radius
		if in && h.allowed(c.slot, allow) {
			hits = append(hits, c.slot)
		}
		if len(best) < ef || c.d < best[ef-1].d {
			best, _ = insertCand(best, c, ef)
		} else if !in {
			return
		}
		w.pushNearest(c)
	}
	w.heap = w.heap[:0]
	see(from)
	ok := true
	for len(w.heap) > 0 {
		c := w.popNearest()
		reach := c.d
		if h.codes != nil {
			reach -= w.scans.err(c.slot)
		}
		if len(best) == ef && c.d > best[ef-1].d && reach > radius {
			break // what comes is farther, but for the error of codes
		}
		near = near[:0]
		for _, s := range h.links(c.slot, 0) {
			if w.visit(s) {
				near = append(near, s)
			}
		}
		if budget -= len(near); budget < 0 {
			ok = false
			break
		}
		for i, d := range w.distances(q, near) {
			see(cand{d, near[i]})
		}
	}
	for _, slot := range hits {
		if w.g.add(slot) {
			w.flush()
		}
	}
	w.flush()
	w.near, w.pool, w.queue = near, best, hits
	return ok
}
