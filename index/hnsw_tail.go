package index

import (
	"context"
	"slices"
)

// Linker is an index that may keep vectors in an unlinked buffer (Options.Tail). Graphs
// implement it.
type Linker interface {
	Index
	// Unlinked is the number of vectors in the unlinked buffer.
	Unlinked() int
	// Link links up to n of them into the graph, each at the cost of Add without a buffer. Searches go
	// on; Add and Delete wait. Errors: that of ctx, or ErrCorrupt; vectors that were not linked stay
	// in the buffer.
	Link(ctx context.Context, n int) error
}

func (h *hnsw) Unlinked() int {
	r := h.views.Acquire()
	defer r.Release()
	return len(r.Value.tail)
}

func (h *hnsw) Link(ctx context.Context, n int) error {
	h.write.Lock()
	defer h.write.Unlock()
	return h.shorten(ctx, max(0, len(h.tail)-n))
}

// shorten links vectors from the front of the buffer until no more than most are left. It always
// links the first node, since a graph without nodes has no buffer.
func (h *hnsw) shorten(ctx context.Context, most int) error {
	if h.top < 0 && len(h.tail) > 0 {
		most = min(most, len(h.tail)-1)
	}
	if len(h.tail) <= most {
		return nil
	}
	if err := h.settle(); err != nil {
		return err
	}
	for len(h.tail) > most {
		n := min(len(h.tail)-most, h.batch())
		plans := h.takePlans(n)
		for i, slot := range h.tail[:n] {
			plans[i].fresh, plans[i].slot = true, slot
		}
		tail := h.tail
		h.tail = tail[n:]
		if err := h.link(ctx, plans); err != nil {
			h.tail = tail
			return err
		}
	}
	return nil
}

// batch returns how many nodes may be linked together: their links are chosen from the graph
// before the batch.
func (h *hnsw) batch() int { return min(1+(h.now.live-len(h.tail))/32, 64) }

// await adds rows to the buffer, each id once, without linking them. On an error, which is
// the context's or ErrCorrupt, some rows were added.
func (h *hnsw) await(ctx context.Context, ids []uint64, vectors []float32, rows []int) error {
	for piece := range slices.Chunk(rows, 1<<nodeBits) {
		if err := ctx.Err(); err != nil {
			return err
		}
		plans, err := h.seat(ids, vectors, piece)
		if err != nil {
			return err
		}
		for i := range plans {
			h.setState(plans[i].slot, waiting)
			h.tail = append(h.tail, plans[i].slot)
		}
		h.unlink(h.show(plans))
	}
	return nil
}

// addTail offers the vectors of the unlinked buffer to pool, which holds up to ef nodes,
// ascending. It skips vectors that were linked meanwhile and that the walk has met.
func (w *walker) addTail(pool []cand, ef int) []cand {
	w.mem = w.v.mem // later memory may lack what was deleted meanwhile
	for piece := range slices.Chunk(w.v.tail, 1<<nodeBits) {
		if w.err = w.o.done(); w.err != nil {
			break
		}
		near := w.near[:0]
		for _, s := range piece {
			if w.visit(s) && w.answer(s) {
				near = append(near, s)
			}
		}
		w.near = near
		dist := w.distances(&w.q, near)
		if w.err != nil {
			break
		}
		for i, d := range dist {
			if len(pool) < ef || d < pool[ef-1].d {
				pool, _ = insertCand(pool, cand{d, near[i]}, ef)
			}
		}
	}
	w.pool = pool
	return pool
}
