package index

import (
	"cmp"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// The pivots are always the highest nodes, so they change with additions and deletions.
// Among n added or deleted vectors about 1,024 change them, so the search of all nodes
// for another pivot costs little per vector.

// promote makes a new node a pivot, if it is high enough.
func (h *hnsw) promote(slot uint32) {
	p := &h.pivots
	if h.height(slot) == 0 {
		return
	}
	if n := len(p.slots); n > 0 {
		lane := n
		if n == mostPivots {
			if lane = p.lowest; h.rank(h.id(slot)) > p.ranks[lane] {
				return
			}
		}
		h.takeUp(lane, slot)
	}
	if p.come++; p.come >= max(leastPivots, p.fitted) {
		h.fitPivots()
	}
}

// demote removes nodes that are about to leave the graph from the pivots, and adds the
// next highest nodes instead.
func (h *hnsw) demote(leaving []uint32) {
	p := &h.pivots
	before := len(p.slots)
	for _, slot := range leaving {
		if h.height(slot) == 0 {
			continue
		}
		if lane := slices.Index(p.slots, slot); lane >= 0 {
			h.mu.Lock()
			p.drop(lane)
			h.mu.Unlock()
		}
	}
	switch n := len(p.slots); {
	case n == before:
	case n < leastPivots:
		h.setPivots(pivots{come: n})
	default:
		p.lower()
		for _, slot := range h.highest(before-n, p.slots) {
			h.takeUp(len(p.slots), slot)
		}
	}
}

// highest lists up to n live nodes above layer 0, without those in but, the highest
// first.
func (h *hnsw) highest(n int, but []uint32) []uint32 {
	type ranked struct {
		rank uint64
		slot uint32
	}
	var all []ranked
	not := make(map[uint32]bool, len(but))
	for _, s := range but {
		not[s] = true
	}
	for i := range h.n {
		if slot := uint32(i); h.height(slot) > 0 && h.state(slot) == live && !not[slot] {
			all = append(all, ranked{h.rank(h.id(slot)), slot})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.slot, b.slot))
	})
	list := make([]uint32, min(n, len(all)))
	for i := range list {
		list[i] = all[i].slot
	}
	return list
}

// takeUp makes a node the pivot of a lane. It leaves out a node with a damaged vector;
// searches that meet the damage report it.
func (h *hnsw) takeUp(lane int, slot uint32) {
	p := &h.pivots
	var c pivotCode
	if h.readRow(slot, func(row []float32) { c = p.code(row, h.m) }) != nil {
		return
	}
	rank := h.rank(h.id(slot))
	h.mu.Lock()
	p.set(lane, slot, rank, c)
	h.mu.Unlock()
	p.lower()
}

// readRow calls f with a vector, or returns ErrCorrupt if it is damaged.
func (h *hnsw) readRow(slot uint32, f func(row []float32)) error {
	return guarded(func() error {
		mem := h.mem.Load()
		if err := mem.rows.checkSlot(slot); err != nil {
			return err
		}
		f(mem.rows.row(slot))
		return nil
	})
}

// fitPivots computes the mean again, and with it all codes.
func (h *hnsw) fitPivots() {
	sum, n := make([]float64, h.o.Dim), 0
	list := h.highest(mostPivots, nil)
	list = slices.DeleteFunc(list, func(slot uint32) bool {
		return h.readRow(slot, func(row []float32) { vec.AxpyWide(sum, 1, row) }) != nil
	})
	if n = len(list); n < leastPivots {
		h.setPivots(pivots{come: n})
		return
	}
	for i := range sum {
		sum[i] /= float64(n)
	}
	p := pivots{signs: vec.NewSigns(h.o.Dim), mean: make([]float32, h.o.Dim), fitted: n}
	vec.Narrow(p.mean, sum)
	for _, slot := range list {
		_ = h.readRow(slot, func(row []float32) { p.set(len(p.slots), slot, h.rank(h.id(slot)), p.code(row, h.m)) }) // it was read before
	}
	p.lower()
	h.setPivots(p)
}

func (h *hnsw) setPivots(p pivots) {
	h.mu.Lock()
	h.pivots = p
	h.mu.Unlock()
}
