package index

// The spanning tree within layer 0 is the first treeDegree links of each node; each edge
// is stored at both ends. KindHNSW explains its purpose.

// comfortable is the number of tree edges up to which a node accepts children before
// another parent is looked for, so that half of its links can be chosen by distance.
func (h *hnsw) comfortable() int { return h.o.M }

// parent chooses the tree parent of a new node: the nearest of its candidates with room.
// extra counts edges that are planned but not set.
func (h *hnsw) parent(pool []cand, extra map[uint32]int) uint32 {
	for _, c := range pool {
		if h.treeDegree(c.slot)+extra[c.slot] < h.comfortable() {
			return c.slot
		}
	}
	for _, c := range pool {
		if h.state(c.slot) == live {
			return h.roomy(c.slot, extra)
		}
	}
	return pool[0].slot
}

// roomy returns the node nearest to slot along the tree that has room for another edge.
// There is one: leaves have room, and a finite tree has leaves. Only a forged snapshot
// may have none; then it returns slot.
func (h *hnsw) roomy(slot uint32, extra map[uint32]int) uint32 {
	if h.treeDegree(slot)+extra[slot] < h.limit(0) {
		return slot
	}
	seen := map[uint32]bool{slot: true}
	for queue := []uint32{slot}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if h.treeDegree(s)+extra[s] < h.limit(0) {
			return s
		}
		for _, t := range h.tree(s) {
			if !seen[t] && h.state(t) != leaving {
				seen[t] = true
				queue = append(queue, t)
			}
		}
	}
	return slot
}

// join connects the trees of parts, given by one slot each, into one.
func (h *hnsw) join(parts []uint32) {
	for i := 1; i < len(parts); i++ {
		a, b := h.roomy(parts[i-1], nil), h.roomy(parts[i], nil)
		h.addEdge(a, b)
		h.addEdge(b, a)
	}
}

// addEdge makes b the last tree edge of a, which must have room; if all links are in use,
// the last link is dropped.
func (h *hnsw) addEdge(a, b uint32) {
	tree := h.treeDegree(a)
	if tree >= h.limit(0) {
		return // see roomy
	}
	links := append(make([]uint32, 0, h.limit(0)+1), h.links(a, 0)...)
	at := tree
	for at < len(links) && links[at] != b {
		at++
	}
	if at == len(links) {
		links = append(links, b)
	}
	links[tree], links[at] = links[at], links[tree]
	h.setLinks(a, 0, links[:min(len(links), h.limit(0))])
	h.setTree(a, tree+1)
}
