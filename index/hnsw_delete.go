package index

import "slices"

// unlinkBatch is the maximum number of nodes removed at once.
const unlinkBatch = 256

// unlink removes hidden nodes from the graph for good. Nodes that linked to a removed one
// choose new links; the parts into which the spanning tree falls are joined; nodes left
// with few links look for better ones.
func (h *hnsw) unlink(gone []uint32) {
	for len(gone) > 0 {
		n := min(len(gone), unlinkBatch)
		h.unlinkSome(gone[:n])
		gone = gone[n:]
	}
}

func (h *hnsw) unlinkSome(gone []uint32) {
	for _, x := range gone {
		h.setState(x, leaving)
	}
	h.demote(gone)
	edits := h.affected(gone)
	h.mend(len(edits), func(w *walker, i int) { h.heal(w, &edits[i]) })
	parts := h.parts(gone)
	h.apply(edits)

	h.each(len(parts), func(i int) { h.join(parts[i]) })
	if h.top >= 0 && h.state(h.entry) == leaving {
		h.findEntry()
	}
	h.each(len(gone), func(i int) {
		x := gone[i]
		for layer := h.height(x); layer >= 0; layer-- {
			h.setLinks(x, layer, nil)
		}
		h.setTree(x, 0)
	})
	h.each(len(gone), func(i int) { h.leave(gone[i]) })
	h.hidden -= len(gone)
	h.giveUp(gone)

	var weak []uint32
	for i := range edits {
		if e := &edits[i]; e.layer == 0 && h.state(e.slot) == live && len(h.links(e.slot, 0)) < min(h.o.M/2, h.now.live-1) {
			weak = append(weak, e.slot)
		}
	}
	h.relink(weak)
}

// affected lists the remaining nodes that link to one of gone, with only place and layer
// filled in.
func (h *hnsw) affected(gone []uint32) []edit {
	var edits []edit
	var in []uint32
	for _, x := range gone {
		for layer := h.height(x); layer >= 0; layer-- {
			in = h.appendIn(in[:0], x, layer)
			for _, y := range in {
				if h.state(y) != leaving {
					edits = append(edits, edit{slot: y, layer: layer})
				}
			}
		}
	}
	slices.SortFunc(edits, func(a, b edit) int {
		if a.slot != b.slot {
			return int(a.slot) - int(b.slot)
		}
		return a.layer - b.layer
	})
	return slices.CompactFunc(edits, func(a, b edit) bool { return a.slot == b.slot && a.layer == b.layer })
}

// heal plans new links for a node: the remaining tree edges, then the best among its
// other links and the links of removed nodes, also through further removed ones.
func (h *hnsw) heal(w *walker, e *edit) {
	old := h.links(e.slot, e.layer)
	w.anew()
	w.visit(e.slot)
	rest, through := w.near[:0], w.queue[:0]
	for i, s := range old {
		w.visit(s)
		switch {
		case h.state(s) == leaving:
			through = append(through, s)
		case e.layer == 0 && i < h.treeDegree(e.slot):
			e.links = append(e.links, s)
		default:
			rest = append(rest, s)
		}
	}
	e.tree = 0
	if e.layer == 0 {
		e.tree = len(e.links)
	}
	limit := h.limit(e.layer)
	if h.state(e.slot) == live {
		for i := 0; i < len(through) && len(rest) < 4*limit; i++ {
			for _, s := range h.links(through[i], e.layer) {
				if !w.visit(s) {
					continue
				}
				switch h.state(s) {
				case leaving:
					through = append(through, s)
				case live:
					rest = append(rest, s)
				}
			}
		}
	}
	w.queue = through
	q := w.mem.query(e.slot, w.q.code)
	pool := w.rank(&q, rest)
	w.near = rest
	e.links = append(e.links[:0], w.choose(e.links, pool, limit)...)
}

// parts lists, for each connected piece of the spanning tree that is removed, the nodes
// that were attached to it and remain. These end up in different trees.
func (h *hnsw) parts(gone []uint32) [][]uint32 {
	seen := make(map[uint32]bool, len(gone))
	var parts [][]uint32
	for _, x := range gone {
		if seen[x] {
			continue
		}
		seen[x] = true
		var part []uint32
		for stack := []uint32{x}; len(stack) > 0; {
			s := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, t := range h.tree(s) {
				switch {
				case h.state(t) != leaving:
					part = append(part, t)
				case !seen[t]:
					seen[t] = true
					stack = append(stack, t)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// findEntry makes a node of the highest layer the entry.
func (h *hnsw) findEntry() {
	entry, top := h.entry, -1
	for i := range h.n {
		slot := uint32(i)
		if s := h.state(slot); s != live && s != hidden {
			continue
		}
		if height := h.height(slot); height > top {
			entry, top = slot, height
		}
	}
	h.mu.Lock()
	h.entry, h.top = entry, top
	h.mu.Unlock()
}

// relink searches new links on layer 0 for nodes that have few.
func (h *hnsw) relink(slots []uint32) {
	for len(slots) > 0 {
		n := min(len(slots), 64)
		plans := h.takePlans(n)
		h.mend(n, func(w *walker, i int) {
			p := &plans[i]
			p.slot, p.fresh = slots[i], false
			q := w.mem.query(p.slot, w.q.code)
			w.from = append(w.from[:0], w.descend(&q, 0))
			w.anew()
			pool := w.walk(&q, w.from, h.o.EfConstruction, 0)
			pool = slices.DeleteFunc(pool, func(c cand) bool { return c.slot == p.slot || h.state(c.slot) != live })
			kept := h.tree(p.slot)
			for len(p.links) < 1 {
				p.links = append(p.links, nil)
			}
			p.links, p.tree = p.links[:1], len(kept)
			p.links[0] = append(p.links[0][:0], w.choose(kept, pool, max(h.o.M, len(kept)))...)
		})
		h.connect(plans)
		slots = slots[n:]
	}
}
