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

// answer appends the nearest k, or all if k is 0, of found to dst.
func answer(dst, found []Neighbor, k int) []Neighbor {
	order(found)
	if k > 0 && len(found) > k {
		found = found[:k]
	}
	return append(dst, found...)
}

// within appends the gathered vectors with a distance of at most radius.
func within(dst []Neighbor, g *gather, radius float32, id func(slot uint32) uint64) []Neighbor {
	slots, dist := g.flush()
	for i, slot := range slots {
		if dist[i] <= radius {
			dst = append(dst, Neighbor{id(slot), dist[i]})
		}
	}
	return dst
}

func (f *flat) SearchRange(dst []Neighbor, q []float32, radius float32, o SearchOptions) ([]Neighbor, error) {
	if err := checkRange(radius, o); err != nil {
		return dst, err
	}
	if err := f.m.checkQuery(q, f.o.Dim); err != nil {
		return dst, err
	}
	s := f.scratch.Get().(*flatScratch)
	defer f.scratch.Put(s)
	f.m.put(s.g.q, q)
	f.mu.RLock()
	defer f.mu.RUnlock()
	id := func(slot uint32) uint64 { return f.ids[slot] }
	found := s.top.heap[:0]
	if f.codes != nil {
		f.codes.fill(&s.q)
		var pick picker
		if o.Allow != nil {
			s.allow, pick = o.Allow, s.pick
		}
		f.codes.scan(&s.scan, &s.q, len(f.ids), 0, radius, pick, nil)
		s.allow = nil
		for _, m := range s.scan.near {
			if s.g.add(m.slot) {
				found = within(found, &s.g, radius, id)
			}
		}
	} else {
		for slot := range f.ids {
			if (o.Allow == nil || o.Allow(f.ids[slot])) && s.g.add(uint32(slot)) {
				found = within(found, &s.g, radius, id)
			}
		}
	}
	found = within(found, &s.g, radius, id)
	s.top.heap = found
	return answer(dst, found, o.K), nil
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
	w.top = topK{heap: w.top.heap[:0]}
	if all := costScan * float64(h.n); costExpand*float64(ef) >= all || !h.rangeGraph(w, ef, radius, o.Allow, int(all)) {
		w.top.heap = w.top.heap[:0]
		h.rangeScan(w, radius, o.Allow)
	}
	return answer(dst, w.top.heap, o.K), nil
}

// rangeGraph walks on as long as the nearest node not yet expanded may lie
// within the radius or is nearer than the ef-th seen. It gives up, and reports
// so, after the given number of distances.
func (h *hnsw) rangeGraph(w *walker, ef int, radius float32, allow func(uint64) bool, budget int) bool {
	q := &w.q
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
			w.top.heap = within(w.top.heap, &w.g, radius, h.id)
		}
	}
	w.top.heap = within(w.top.heap, &w.g, radius, h.id)
	w.near, w.pool, w.queue = near, best, hits
	return ok
}

// rangeScan compares with all that may be returned.
func (h *hnsw) rangeScan(w *walker, radius float32, allow func(uint64) bool) {
	found := w.top.heap
	if h.codes != nil {
		if allow == nil {
			h.codes.scan(&w.scans, &w.q, h.n, 0, radius, nil, w.is)
		} else {
			w.allow = allow
			h.codes.scan(&w.scans, &w.q, h.n, 0, radius, w.pick, nil)
			w.allow = nil
		}
		for _, m := range w.scans.near {
			if w.g.add(m.slot) {
				found = within(found, &w.g, radius, h.id)
			}
		}
	} else {
		for i := range h.n {
			if slot := uint32(i); h.allowed(slot, allow) && w.g.add(slot) {
				found = within(found, &w.g, radius, h.id)
			}
		}
	}
	w.top.heap = within(found, &w.g, radius, h.id)
}
