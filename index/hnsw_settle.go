package index

import (
	"context"
	"errors"
)

// checkLinks reads and checks all links in a snapshot that were not read yet; it returns
// ErrCorrupt or ctx's error. The writer calls it.
func (h *hnsw) checkLinks(ctx context.Context) error {
	if h.lazy == nil {
		return nil
	}
	if h.unspilled != nil {
		if err := h.openSpill(h.unspilled); err != nil {
			return err
		}
		h.unspilled = nil
	}
	errs := make([]error, len(h.nodes))
	h.parallel(len(errs), func(c int) {
		if errs[c] = ctx.Err(); errs[c] == nil {
			errs[c] = h.lazy.checkAll(c<<(nodeBits-linkBits), 1<<(nodeBits-linkBits))
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// settle copies the links in a snapshot into the index's own memory before the writer
// first changes one. Searches go on. If it returns an error, which is ErrCorrupt, nothing
// may be changed.
func (h *hnsw) settle() error {
	if h.settled {
		return nil
	}
	if err := h.checkLinks(context.Background()); err != nil {
		return err
	}
	rooms := make([][]uint32, 0, len(h.nodes))
	slabs(len(h.nodes), 2*h.o.M<<nodeBits, func(room []uint32) { rooms = append(rooms, room) })
	errs := make([]error, len(rooms))
	h.parallel(len(rooms), func(c int) {
		errs[c] = guarded(func() error { copy(rooms[c], h.nodes[c].room); return nil })
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	h.mu.Lock()
	for c, room := range rooms {
		h.nodes[c].room = room
	}
	h.mu.Unlock()
	h.settled = true
	return nil
}
