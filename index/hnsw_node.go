package index

import "slices"

// Nodes are in chunks of 1,024, so growing moves nothing. A slot numbers a node and its
// vector.
const (
	nodeBits = 10
	nodeMask = 1<<nodeBits - 1
)

// States of a slot.
const (
	vacant  = iota // no node
	hidden         // in the graph, not to be returned: about to come or to go
	leaving        // hidden, and being taken out of the graph right now
	live           // in the graph, to be returned
	waiting        // to be returned, and not in the graph yet
)

type nodes struct {
	state [1 << nodeBits]uint8
	// Room for 2·M slots for each node on layer 0. From the front: its out[i] links, of
	// which the first tree[i] are edges of the spanning tree. From the back: ins[i] nodes
	// that link here without a link back; further ones are in spill. Other nodes that
	// link here are among the links.
	room           []uint32
	out, tree, ins [1 << nodeBits]uint16
	spill          map[uint32][]uint32
	tower          map[uint32]*tower // of nodes above layer 0, one in M
}

// tower holds the links of a node above layer 0; layer l is at l-1.
type tower struct{ links, in [][]uint32 }

// newTower makes a tower without links. Most towers have one layer: its lists are stored
// together with the tower, which saves a cache miss.
func newTower(height int) *tower {
	if height == 1 {
		t := &struct {
			tower
			one [2][]uint32
		}{}
		t.links, t.in = t.one[:1:1], t.one[1:]
		return &t.tower
	}
	return &tower{links: make([][]uint32, height), in: make([][]uint32, height)}
}

// towerPlace is the approximate memory of an entry in nodes.tower.
const towerPlace = 24

// setTower sets the tower of a node, or removes it if t is nil.
func (h *hnsw) setTower(slot uint32, t *tower) {
	c := h.node(slot)
	if t == nil {
		delete(c.tower, slot&nodeMask)
		return
	}
	if c.tower == nil {
		c.tower = map[uint32]*tower{}
	}
	c.tower[slot&nodeMask] = t
}

func (h *hnsw) node(slot uint32) *nodes       { return h.nodes[slot>>nodeBits] }
func (h *hnsw) state(slot uint32) uint8       { return h.node(slot).state[slot&nodeMask] }
func (h *hnsw) id(slot uint32) uint64         { return h.mem.Load().id(slot) }
func (h *hnsw) treeDegree(slot uint32) int    { return int(h.node(slot).tree[slot&nodeMask]) }
func (h *hnsw) tree(slot uint32) []uint32     { return h.links(slot, 0)[:h.treeDegree(slot)] }
func (h *hnsw) setTree(slot uint32, n int)    { h.node(slot).tree[slot&nodeMask] = uint16(n) }
func (h *hnsw) setState(slot uint32, s uint8) { h.node(slot).state[slot&nodeMask] = s }

// height is the highest layer of a node.
func (h *hnsw) height(slot uint32) int {
	if t := h.node(slot).tower[slot&nodeMask]; t != nil {
		return len(t.links)
	}
	return 0
}

// links returns the slots that a node links to on one of its layers.
func (h *hnsw) links(slot uint32, layer int) []uint32 {
	c := h.node(slot)
	if layer > 0 {
		return c.tower[slot&nodeMask].links[layer-1]
	}
	i := slot & nodeMask
	at := int(i) * 2 * h.o.M
	return c.room[at : at+int(c.out[i])]
}

// room returns the space of a node for layer 0.
func (h *hnsw) room(slot uint32) []uint32 {
	at := int(slot&nodeMask) * 2 * h.o.M
	return h.node(slot).room[at : at+2*h.o.M]
}

// appendIn appends the slots that link to a node on a layer.
func (h *hnsw) appendIn(dst []uint32, slot uint32, layer int) []uint32 {
	c, i := h.node(slot), slot&nodeMask
	if layer > 0 {
		return append(dst, c.tower[i].in[layer-1]...)
	}
	room := h.room(slot)
	dst = append(dst, room[len(room)-int(c.ins[i]):]...)
	dst = append(dst, c.spill[i]...)
	for _, s := range h.links(slot, 0) {
		if slices.Contains(h.links(s, 0), slot) {
			dst = append(dst, s)
		}
	}
	return dst
}

// noteIn records that from links to slot on layer 0 without a link back.
func (h *hnsw) noteIn(slot, from uint32) {
	c, i, room := h.node(slot), slot&nodeMask, h.room(slot)
	if int(c.out[i]+c.ins[i]) < len(room) {
		c.ins[i]++
		room[len(room)-int(c.ins[i])] = from
		return
	}
	c.overflow(i, from)
}

// overflow records the same for node i of c in spill.
func (c *nodes) overflow(i, from uint32) {
	if c.spill == nil {
		c.spill = map[uint32][]uint32{}
	}
	c.spill[i] = append(c.spill[i], from)
}

// dropIn undoes noteIn.
func (h *hnsw) dropIn(slot, from uint32) {
	c, i, room := h.node(slot), slot&nodeMask, h.room(slot)
	ins := room[len(room)-int(c.ins[i]):]
	for j, s := range ins {
		if s == from {
			ins[j] = ins[0]
			c.ins[i]--
			return
		}
	}
	rest := c.spill[i]
	drop(&rest, from)
	if len(rest) == 0 {
		delete(c.spill, i)
	} else {
		c.spill[i] = rest
	}
}

// setLinks replaces the links of a node and updates the nodes at the other ends.
func (h *hnsw) setLinks(slot uint32, layer int, links []uint32) {
	old := h.links(slot, layer)
	gone, come := h.gone[:0], h.come[:0]
	for _, s := range old {
		if !slices.Contains(links, s) {
			gone = append(gone, s)
		}
	}
	for _, s := range links {
		if !slices.Contains(old, s) {
			come = append(come, s)
		}
	}
	h.gone, h.come = gone, come
	c, i := h.node(slot), slot&nodeMask
	if layer > 0 {
		t := c.tower[i]
		t.links[layer-1] = append(t.links[layer-1][:0], links...)
		for _, s := range gone {
			drop(&h.node(s).tower[s&nodeMask].in[layer-1], slot)
		}
		for _, s := range come {
			in := &h.node(s).tower[s&nodeMask].in[layer-1]
			*in = append(*in, slot)
		}
		return
	}
	room := h.room(slot)
	for len(links)+int(c.ins[i]) > len(room) { // the links take the room of an entry
		last := room[len(room)-int(c.ins[i])]
		c.ins[i]--
		c.overflow(i, last)
	}
	c.out[i] = uint16(copy(room, links))
	for _, s := range gone {
		if slices.Contains(h.links(s, 0), slot) {
			h.noteIn(slot, s)
		} else {
			h.dropIn(s, slot)
		}
	}
	for _, s := range come {
		if slices.Contains(h.links(s, 0), slot) {
			h.dropIn(slot, s)
		} else {
			h.noteIn(s, slot)
		}
	}
}

// drop removes s from a list whose order does not matter.
func drop(list *[]uint32, s uint32) {
	l := *list
	for i, x := range l {
		if x == s {
			l[i] = l[len(l)-1]
			*list = l[:len(l)-1]
			return
		}
	}
}

// grow makes room for n slots in total. The memory is allocated while searches go on, and
// nothing that they read moves.
func (h *hnsw) grow(n int) {
	h.base.grow(n)
	if nodes := h.grownNodes(n); len(nodes) > len(h.nodes) {
		h.mu.Lock()
		h.nodes = nodes
		h.mu.Unlock()
	}
}

// place writes ids and vectors into vacant slots, which nobody reads. The error is
// ErrCorrupt if the memory of a slot cannot be prepared.
func (h *hnsw) place(plans []plan, ids []uint64, vectors []float32, rows []int) error {
	dim := h.o.Dim
	var chunks []int
	for i := range plans {
		chunks = append(chunks, int(plans[i].slot>>h.now.mem.rows.bits))
	}
	slices.Sort(chunks)
	if err := h.own(slices.Compact(chunks)); err != nil {
		return err
	}
	mem := h.mem.Load()
	for i, r := range rows {
		mem.put(plans[i].slot, ids[r], vectors[r*dim:(r+1)*dim])
	}
	return nil
}

// grownNodes is h.nodes with room for n slots in all.
func (h *hnsw) grownNodes(n int) []*nodes {
	all := h.nodes[:len(h.nodes):len(h.nodes)]
	need := (n+nodeMask)>>nodeBits - len(all)
	slabs(more(need, len(all)), 2*h.o.M<<nodeBits, func(room []uint32) { all = append(all, &nodes{room: room}) })
	return all
}

// leave frees the slot of a node that no other links to.
func (h *hnsw) leave(slot uint32) {
	c := h.node(slot)
	c.state[slot&nodeMask] = vacant
	h.setTower(slot, nil)
}

// bytes is the memory that c takes, about.
func (c *nodes) bytes() int64 {
	n := int64(len(c.room)*4 + len(c.state) + 3*2*len(c.out) + towerPlace*len(c.tower))
	for _, t := range c.tower {
		n += 48
		for l := range t.links {
			n += 48 + 4*int64(cap(t.links[l])+cap(t.in[l]))
		}
	}
	for _, s := range c.spill {
		n += 48 + 4*int64(cap(s))
	}
	return n
}
