package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lexsem/lexsem/internal/section"
)

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
	s := beginSnapshot(w, h.kind(), h.o)
	writeVectors(s, len(slots), h.o.Dim,
		func(i int) uint64 { return h.id(slots[i]) },
		func(i int) []float32 { return h.rows.row(slots[i]) })
	s.Begin("GRPH", length)
	if len(slots) > 0 {
		s.U32(number[h.entry])
	} else {
		s.U32(0)
	}
	for _, slot := range slots {
		s.U32(uint32(h.height(slot)))
		s.U32(uint32(h.treeDegree(slot)))
		for layer := range h.height(slot) + 1 {
			links := h.links(slot, layer)
			s.U32(uint32(len(links)))
			for _, t := range links {
				s.U32(number[t])
			}
		}
	}
	s.Close()
	return s.Finish()
}

func loadHNSW(h *hnsw, r *section.Reader, keep bool) (Index, error) {
	ids := readVectors(r, h.m, &h.rows, &h.slots, keep, h.o.Workers)
	g := r.Section("GRPH")
	if r.Err() != nil {
		return nil, r.Err()
	}
	if h.codes != nil {
		h.codes.putAll(&h.rows, len(ids), h.o.Workers)
	}
	h.n, h.live = len(ids), len(ids)
	h.entry = g.U32()
	if h.n > 0 && int(h.entry) >= h.n || h.n == 0 && h.entry != 0 {
		g.Fail("entry %d of %d nodes", h.entry, h.n)
	}
	// Each node takes 12 bytes or more: so many may be allocated for.
	if g.Len()/12 < h.n {
		g.Fail("graph of %d nodes in %d bytes", h.n, g.Len())
	}
	if g.Err() == nil {
		h.nodes = h.grownNodes(h.n)
	}
	for i := 0; i < h.n && g.Err() == nil; i++ {
		h.readNode(g, uint32(i), ids[i])
	}
	g.Done()
	if r.Err() != nil {
		return nil, r.Err()
	}
	h.slots.id = h.id
	if h.n > 0 {
		h.top = h.height(h.entry)
	}
	if err := h.backLinks(); err != nil {
		return nil, err
	}
	return h, h.verify(false)
}

func (h *hnsw) readNode(g *section.Reader, slot uint32, id uint64) {
	c := h.node(slot)
	c.ids[slot&nodeMask] = id
	c.state[slot&nodeMask] = live
	height, tree := int(g.U32()), int(g.U32())
	if height > maxLayer || tree > h.limit(0) || g.Len() < 4*(height+1) {
		g.Fail("node %d has %d layers and %d tree edges", slot, height, tree)
		return
	}
	if height > 0 {
		c.tower[slot&nodeMask] = newTower(height)
	}
	for layer := range height + 1 {
		n := int(g.U32())
		if n > h.limit(layer) || layer == 0 && n < tree || g.Len() < 4*n {
			g.Fail("node %d has %d links on layer %d", slot, n, layer)
			return
		}
		var links []uint32
		if layer == 0 {
			links = h.room(slot)[:n]
			c.out[slot&nodeMask], c.tree[slot&nodeMask] = uint16(n), uint16(tree)
		} else {
			links = make([]uint32, n)
			c.tower[slot&nodeMask].links[layer-1] = links
		}
		raw := g.Raw(4 * uint64(n))
		for i := range links {
			if links[i] = binary.LittleEndian.Uint32(raw[4*i:]); int(links[i]) >= h.n {
				g.Fail("node %d links to %d of %d", slot, links[i], h.n)
				return
			}
		}
	}
}

// backLinks fills in who links to whom and checks the links on the way, chunk
// by chunk on Options.Workers goroutines.
func (h *hnsw) backLinks() error {
	from, sources := h.sources()
	marks := sync.Pool{New: func() any { m := make([]uint32, h.n); return &m }}
	errs := make([]error, len(h.nodes))
	parallel(h.o.Workers, len(h.nodes), func(chunk int) {
		mark := marks.Get().(*[]uint32) // mark[s] == slot+1: slot links to s
		defer marks.Put(mark)
		for i := chunk << nodeBits; i < min(h.n, (chunk+1)<<nodeBits); i++ {
			if errs[chunk] = h.backLink(uint32(i), sources[from[i]:from[i+1]], *mark); errs[chunk] != nil {
				return
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range h.n {
		slot := uint32(i)
		for layer := 1; layer <= h.height(slot); layer++ {
			links := h.links(slot, layer)
			for j, s := range links {
				if h.height(s) < layer || s == slot || contains(links[:j], s) {
					return fmt.Errorf("node %d links to %d, itself, twice or not on layer %d: %w", slot, s, layer, ErrCorrupt)
				}
				in := &h.node(s).tower[s&nodeMask].in[layer-1]
				*in = append(*in, slot)
			}
		}
	}
	return nil
}

// backLink notes who of in, the nodes that link to slot on layer 0, is not
// linked to.
func (h *hnsw) backLink(slot uint32, in, mark []uint32) error {
	tree := h.treeDegree(slot)
	for i, s := range h.links(slot, 0) {
		if s == slot || mark[s] == slot+1 {
			return fmt.Errorf("node %d links to itself or twice to %d: %w", slot, s, ErrCorrupt)
		}
		if i < tree && !contains(h.tree(s), slot) {
			return fmt.Errorf("tree edge from %d to %d goes one way: %w", slot, s, ErrCorrupt)
		}
		mark[s] = slot + 1
	}
	for _, s := range in {
		if mark[s] != slot+1 {
			h.noteIn(slot, s)
		}
	}
	return nil
}

// sources lists who links to whom on layer 0: sources[from[s]:from[s+1]] link to
// s. All links must be within the graph.
func (h *hnsw) sources() (from, sources []uint32) {
	from = make([]uint32, h.n+2)
	each := func(f func(slot, to uint32)) {
		for i := range h.n {
			for _, s := range h.links(uint32(i), 0) {
				f(uint32(i), s)
			}
		}
	}
	each(func(_, to uint32) { from[to+2]++ })
	for i := 2; i < len(from); i++ {
		from[i] += from[i-1]
	}
	sources = make([]uint32, from[len(from)-1])
	each(func(slot, to uint32) {
		sources[from[to+1]] = slot
		from[to+1]++
	})
	return from, sources
}
