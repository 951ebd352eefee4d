package index

// Nodes lie in chunks of 1,024, so that growing moves nothing. A slot numbers
// a node and its vector.
const (
	nodeBits = 10
	nodeMask = 1<<nodeBits - 1
)

// States of a slot.
const (
	vacant  = iota // no node
	hidden         // in the graph, not to be returned: about to come or to go
	leaving        // hidden, and being taken out of the graph right now
	live
)

type nodes struct {
	ids   [1 << nodeBits]uint64
	state [1 << nodeBits]uint8
	// links of layer 0: for each node their number, then room for 2·M slots.
	// The first tree[i] of them are edges of the spanning tree.
	links []uint32
	tree  [1 << nodeBits]uint16
	in    [1 << nodeBits][]uint32 // who links here on layer 0
	tower [1 << nodeBits]*tower   // nil for nodes on layer 0 alone
}

// tower is what a node has above layer 0; layer l is at l-1.
type tower struct{ links, in [][]uint32 }

func (h *hnsw) node(slot uint32) *nodes       { return h.nodes[slot>>nodeBits] }
func (h *hnsw) state(slot uint32) uint8       { return h.node(slot).state[slot&nodeMask] }
func (h *hnsw) id(slot uint32) uint64         { return h.node(slot).ids[slot&nodeMask] }
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

// links are the slots a node leads to on a layer it has.
func (h *hnsw) links(slot uint32, layer int) []uint32 {
	c := h.node(slot)
	if layer > 0 {
		return c.tower[slot&nodeMask].links[layer-1]
	}
	at := int(slot&nodeMask) * (2*h.o.M + 1)
	return c.links[at+1 : at+1+int(c.links[at])]
}

// in is the list of slots that lead to a node.
func (h *hnsw) in(slot uint32, layer int) *[]uint32 {
	c := h.node(slot)
	if layer > 0 {
		return &c.tower[slot&nodeMask].in[layer-1]
	}
	return &c.in[slot&nodeMask]
}

// setLinks replaces the links of a node and tells the nodes at the other ends.
func (h *hnsw) setLinks(slot uint32, layer int, links []uint32) {
	old := h.links(slot, layer)
	for _, s := range old {
		if !contains(links, s) {
			in := h.in(s, layer)
			drop(in, slot)
		}
	}
	for _, s := range links {
		if !contains(old, s) {
			in := h.in(s, layer)
			*in = append(*in, slot)
		}
	}
	c := h.node(slot)
	if layer > 0 {
		t := c.tower[slot&nodeMask]
		t.links[layer-1] = append(t.links[layer-1][:0], links...)
		return
	}
	at := int(slot&nodeMask) * (2*h.o.M + 1)
	c.links[at] = uint32(copy(c.links[at+1:at+1+2*h.o.M], links))
}

func contains(list []uint32, s uint32) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// drop takes s out of a list whose order does not matter.
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

// place finds a slot for a new node, gives it height and vector, and leaves it
// vacant.
func (h *hnsw) place(id uint64, v []float32) uint32 {
	var slot uint32
	if n := len(h.free); n > 0 {
		slot = h.free[n-1]
		h.free = h.free[:n-1]
	} else {
		slot = uint32(h.n)
		h.n++
		h.rows.reserve(h.n)
		if int(slot>>nodeBits) == len(h.nodes) {
			h.nodes = append(h.nodes, &nodes{links: make([]uint32, (2*h.o.M+1)<<nodeBits)})
		}
	}
	row := h.rows.row(slot)
	h.m.put(row, v)
	if h.codes != nil {
		h.codes.reserve(h.n)
		h.codes.put(slot, row)
	}
	c := h.node(slot)
	c.ids[slot&nodeMask] = id
	if l := h.layerOf(id); l > 0 {
		c.tower[slot&nodeMask] = &tower{links: make([][]uint32, l), in: make([][]uint32, l)}
	}
	return slot
}

// vacate gives up the slot of a node that nothing links to any more.
func (h *hnsw) vacate(slot uint32) {
	c := h.node(slot)
	c.state[slot&nodeMask] = vacant
	c.tower[slot&nodeMask] = nil
	c.in[slot&nodeMask] = nil
	h.free = append(h.free, slot)
	h.hidden--
}
