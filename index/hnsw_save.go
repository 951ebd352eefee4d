package index

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// savedGraph is a copy of a graph.
type savedGraph struct {
	entry  uint32
	nodes  []uint64 // see tagNodes
	rooms  [][]uint32
	spill  []byte
	towers []byte
	pivots []byte
}

func (h *hnsw) Save(w *snapshot.Writer) error {
	_, err := h.SaveMarked(w)
	return err
}

func (h *hnsw) SaveMarked(w *snapshot.Writer) (Mark, error) {
	h.write.Lock()
	if err := h.checkLinks(context.Background()); err != nil {
		h.write.Unlock()
		return Mark{}, err
	}
	h.saves++
	at, g, r := h.saves, h.copyGraph(), h.views.Acquire()
	h.write.Unlock()
	defer r.Release()
	v := *r.Value
	v.n = len(g.nodes)
	s := newSaver(&v, false)
	if err := s.save(w, &h.base, g.entry); err != nil {
		return Mark{}, err
	}
	return Mark{of: &h.base, at: at, places: s.places, n: s.n}, g.write(w)
}

// write writes a graph.
func (g *savedGraph) write(w *snapshot.Writer) error {
	w.Begin(tagNodes)
	w.Uint64s(g.nodes)
	w.Begin(tagLinks)
	for _, room := range g.rooms {
		w.Uint32s(room)
	}
	w.Begin(tagSpill)
	if _, err := w.Write(g.spill); err != nil {
		return err
	}
	w.Begin(tagTowers)
	if _, err := w.Write(g.towers); err != nil {
		return err
	}
	w.Begin(tagPivots)
	_, err := w.Write(g.pivots)
	return err
}

// copyGraph copies the links of live nodes; nodes of the unlinked buffer have none. While
// nobody writes, no node is hidden.
func (h *hnsw) copyGraph() *savedGraph {
	n := h.n
	for n > 0 && !h.now.has(uint32(n-1)) {
		n--
	}
	g := &savedGraph{entry: h.entry, nodes: make([]uint64, n), pivots: h.pivots.encode()}
	list := func(b []byte, l []uint32) []byte {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(l)))
		for _, s := range l {
			b = binary.LittleEndian.AppendUint32(b, s)
		}
		return b
	}
	if n == 0 {
		g.entry = 0
	}
	for from := 0; from < n; from += 1 << nodeBits {
		c, m := h.nodes[from>>nodeBits], min(1<<nodeBits, n-from)
		each := 2 * h.o.M
		room := make([]uint32, m*each)
		for i := range m {
			if c.state[i] != live {
				continue
			}
			g.nodes[from+i] = uint64(c.out[i]) | uint64(c.tree[i])<<16 | uint64(c.ins[i])<<32
			copy(room[i*each:], c.room[i*each:i*each+int(c.out[i])])
			back := (i+1)*each - int(c.ins[i])
			copy(room[back:], c.room[back:(i+1)*each])
			if t := c.tower[uint32(i)]; t != nil {
				g.towers = binary.LittleEndian.AppendUint32(g.towers, uint32(from+i))
				g.towers = binary.LittleEndian.AppendUint32(g.towers, uint32(len(t.links)))
				for l := range t.links {
					g.towers = list(list(g.towers, t.links[l]), t.in[l])
				}
			}
		}
		g.rooms = append(g.rooms, room)
		for _, i := range slices.Sorted(maps.Keys(c.spill)) {
			g.spill = binary.LittleEndian.AppendUint32(g.spill, uint32(from)+i)
			g.spill = list(g.spill, c.spill[i])
		}
	}
	return g
}
