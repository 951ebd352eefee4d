package index

import "io"

// WriteTo writes a snapshot: HEAD, IDS, VECS, GRPH, END. Nodes are numbered
// anew without gaps. GRPH holds the entry and then, for each node, the number
// of its layers above 0, the number of its tree edges, and for each layer the
// number of links and the links, all uint32.
func (h *hnsw) WriteTo(w io.Writer) (int64, error) {
	h.write.Lock()
	defer h.write.Unlock()
	number := make([]uint32, h.n)
	slots := make([]uint32, 0, h.live)
	length := 4
	for i := range h.n {
		slot := uint32(i)
		if h.state(slot) != live {
			continue
		}
		number[slot] = uint32(len(slots))
		slots = append(slots, slot)
		length += 8
		for layer := range h.height(slot) + 1 {
			length += 4 + 4*len(h.links(slot, layer))
		}
	}
	s := &writer{w: w}
	s.header(h.kind(), h.o)
	writeVectors(s, len(slots), h.o.Dim,
		func(i int) uint64 { return h.id(slots[i]) },
		func(i int) []float32 { return h.rows.row(slots[i]) })
	s.section("GRPH", length)
	if len(slots) > 0 {
		s.u32(number[h.entry])
	} else {
		s.u32(0)
	}
	for _, slot := range slots {
		s.u32(uint32(h.height(slot)))
		s.u32(uint32(h.treeDegree(slot)))
		for layer := range h.height(slot) + 1 {
			links := h.links(slot, layer)
			s.u32(uint32(len(links)))
			for _, t := range links {
				s.u32(number[t])
			}
		}
	}
	s.close()
	return s.finish()
}

func loadHNSW(h *hnsw, r *reader) (Index, error) {
	ids := readVectors(r, h.m, &h.rows, h.slots)
	g := r.section("GRPH")
	if r.err != nil {
		return nil, r.err
	}
	if h.codes != nil {
		h.codes.putAll(&h.rows, len(ids), h.o.Workers)
	}
	h.n, h.live = len(ids), len(ids)
	h.entry = g.u32()
	if h.n > 0 && int(h.entry) >= h.n || h.n == 0 && h.entry != 0 {
		g.fail("entry %d of %d nodes", h.entry, h.n)
	}
	// Each node takes 12 bytes or more: so many may be allocated for.
	if len(g.data)/12 < h.n {
		g.fail("graph of %d nodes in %d bytes", h.n, len(g.data))
	}
	for i := 0; i < h.n && g.err == nil; i += 1 << nodeBits {
		h.nodes = append(h.nodes, &nodes{links: make([]uint32, (2*h.o.M+1)<<nodeBits)})
	}
	for i := 0; i < h.n && g.err == nil; i++ {
		h.readNode(g, uint32(i), ids[i])
	}
	g.done()
	if r.err != nil {
		return nil, r.err
	}
	if h.n > 0 {
		h.top = h.height(h.entry)
	}
	if err := h.backLinks(); err != nil {
		return nil, err
	}
	return h, h.verify()
}

func (h *hnsw) readNode(g *reader, slot uint32, id uint64) {
	c := h.node(slot)
	c.ids[slot&nodeMask] = id
	c.state[slot&nodeMask] = live
	height, tree := int(g.u32()), int(g.u32())
	if height > maxLayer || tree > h.limit(0) || len(g.data) < 4*(height+1) {
		g.fail("node %d has %d layers and %d tree edges", slot, height, tree)
		return
	}
	if height > 0 {
		c.tower[slot&nodeMask] = &tower{links: make([][]uint32, height), in: make([][]uint32, height)}
	}
	for layer := range height + 1 {
		n := int(g.u32())
		if n > h.limit(layer) || layer == 0 && n < tree || len(g.data) < 4*n {
			g.fail("node %d has %d links on layer %d", slot, n, layer)
			return
		}
		links := make([]uint32, n)
		for i := range links {
			links[i] = g.u32()
			if int(links[i]) >= h.n {
				g.fail("node %d links to %d of %d", slot, links[i], h.n)
				return
			}
		}
		if layer > 0 {
			c.tower[slot&nodeMask].links[layer-1] = links
			continue
		}
		at := int(slot&nodeMask) * (2*h.o.M + 1)
		c.links[at] = uint32(copy(c.links[at+1:], links))
		c.tree[slot&nodeMask] = uint16(tree)
	}
}

// backLinks fills in who links to whom.
func (h *hnsw) backLinks() error {
	for i := range h.n {
		slot := uint32(i)
		for layer := range h.height(slot) + 1 {
			for _, s := range h.links(slot, layer) {
				if h.height(s) < layer {
					r := &reader{}
					r.fail("node %d links to %d, which is not on layer %d", slot, s, layer)
					return r.err
				}
				in := h.in(s, layer)
				*in = append(*in, slot)
			}
		}
	}
	return nil
}
