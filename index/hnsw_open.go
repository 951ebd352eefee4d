package index

import (
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// openGraph restores the graph over vectors that are open.
func (p *opener) openGraph(h *hnsw) {
	each := 2 * h.o.M
	counts := snapshot.Uint64s(p.all(tagNodes, p.n, 8))
	links := p.section(tagLinks, p.n, 4*each)
	towers := p.reader(tagTowers)
	spill := p.reader(tagSpill)
	if p.err != nil {
		return
	}
	adviseHuge(links.Raw())
	h.n, h.entry, h.saved = p.n, p.entry, slices.Clone(p.alive)
	rooms := snapshot.Uint32s(links.Raw())
	for from := 0; from < h.n; from += 1 << nodeBits {
		m := min(1<<nodeBits, h.n-from)
		c := &nodes{room: rooms[from*each : (from+m)*each]}
		h.nodes = append(h.nodes, c)
		for i := range m {
			v := counts[from+i]
			out, tree, ins := v&0xffff, v>>16&0xffff, v>>32
			if slot := uint32(from + i); h.now.has(slot) && v == 0 && slot != h.entry { // one in the graph has a tree edge
				c.state[i] = waiting
				h.tail = append(h.tail, slot)
				h.saved[slot>>6] &^= 1 << (slot & 63)
			} else if h.now.has(slot) {
				c.state[i] = live
			} else {
				h.release(uint32(from + i))
				if v != 0 {
					p.fail("node %d is not live and has links", from+i)
				}
			}
			if out+ins > uint64(each) || tree > out {
				p.fail("node %d has %d links, %d tree edges and %d back-links", from+i, out, tree, ins)
				return
			}
			c.out[i], c.tree[i], c.ins[i] = uint16(out), uint16(tree), uint16(ins)
		}
	}
	h.now.tail = h.tail
	p.openTowers(h, towers)
	p.openPivots(h)
	if p.err != nil {
		return
	}
	h.settled, h.unspilled = false, spill
	h.lazy = newLazy((h.n+linkMask)>>linkBits, func(piece, n int) error {
		return guarded(func() error { return h.checkRoom(links, piece<<linkBits, n<<linkBits) })
	})
}

// The links of this many nodes are checked at once, so a search that expands single nodes does not
// wait long. They take about one block of a snapshot.
const (
	linkBits = 3
	linkMask = 1<<linkBits - 1
)

// checkRoom checks links in a snapshot: those of n nodes of a chunk, from slot first on.
func (h *hnsw) checkRoom(s *snapshot.Section, first, n int) error {
	each, c := 2*h.o.M, h.nodes[first>>nodeBits]
	n = min(n, s.Len()/(each*4)-first)
	if err := s.Check(first*each*4, n*each*4); err != nil {
		return corrupt(err)
	}
	for slot := first; slot < first+n; slot++ {
		i := slot & nodeMask
		room := c.room[i*each : (i+1)*each]
		for _, list := range [][]uint32{room[:c.out[i]], room[each-int(c.ins[i]):]} {
			for _, to := range list {
				if !h.linkable(uint32(slot), to) {
					return fmt.Errorf("node %d and %d cannot be linked: %w", slot, to, ErrCorrupt)
				}
			}
		}
	}
	return nil
}

// linkable reports whether two nodes of a snapshot may be linked.
func (h *hnsw) linkable(a, b uint32) bool {
	return int(b>>6) < len(h.saved) && a != b && h.saved[b>>6]>>(b&63)&1 != 0
}

// openTowers reads the links above layer 0, and checks the entry.
func (p *opener) openTowers(h *hnsw, r *snapshot.Reader) {
	all := append([]uint32(nil), snapshot.Uint32s(r.Raw(r.Len()))...)
	next := func() uint32 {
		if len(all) == 0 {
			p.fail("towers are cut off")
			return 0
		}
		v := all[0]
		all = all[1:]
		return v
	}
	list := func() []uint32 {
		n := int(next())
		if n > len(all) {
			p.fail("towers are cut off")
			return nil
		}
		l := all[:n:n]
		all = all[n:]
		return l
	}
	var slots []uint32
	for top := -1; len(all) > 0 && p.err == nil; {
		slot, height := next(), int(next())
		if int(slot) <= top || int(slot) >= h.n || h.state(slot) != live || height < 1 || height > maxLayer {
			p.fail("tower of height %d on node %d", height, slot)
			return
		}
		top = int(slot)
		slots = append(slots, slot)
		t := newTower(height)
		for l := range height {
			t.links[l], t.in[l] = list(), list()
			if len(t.links[l]) > h.o.M {
				p.fail("node %d has %d links on layer %d", slot, len(t.links[l]), l+1)
			}
		}
		h.setTower(slot, t)
	}
	highest := -1
	if h.now.live > 0 {
		highest = 0
	}
	for _, slot := range slots {
		height := h.height(slot)
		highest = max(highest, height)
		for l := range height {
			t := h.node(slot).tower[slot&nodeMask]
			for _, list := range [][]uint32{t.links[l], t.in[l]} {
				for _, to := range list {
					if !h.linkable(slot, to) || h.height(to) <= l {
						p.fail("node %d and %d cannot be linked on layer %d", slot, to, l+1)
						return
					}
				}
			}
		}
	}
	if h.top = highest; p.err != nil {
		return
	}
	if highest >= 0 && (int(h.entry) >= h.n || h.state(h.entry) != live || h.height(h.entry) != highest) {
		p.fail("entry %d is not on the highest layer, %d", h.entry, highest)
	}
}

// openSpill reads the back-links that are outside of nodes' rooms, which only the writer needs.
func (h *hnsw) openSpill(r *snapshot.Reader) error {
	for r.Len() > 0 && r.Err() == nil {
		slot := r.U32()
		list := append([]uint32(nil), r.Uint32s(int(r.U32()))...)
		if int(slot) >= h.n || len(list) == 0 {
			r.Fail("back-links of %d", slot)
			break
		}
		for _, from := range list {
			if !h.linkable(slot, from) {
				r.Fail("back-link of %d from %d", slot, from)
				break
			}
		}
		c := h.node(slot)
		if c.spill == nil {
			c.spill = map[uint32][]uint32{}
		}
		c.spill[slot&nodeMask] = list
	}
	if err := r.Done(); err != nil {
		return corrupt(err)
	}
	return nil
}
