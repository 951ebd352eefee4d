package index

import "errors"

// checkLinks reads and checks all links that lie in a snapshot and have not been
// read yet: ErrCorrupt. The writer calls it.
func (h *hnsw) checkLinks() error {
	if h.lazy == nil {
		return nil
	}
	if h.unspilled != nil {
		if err := h.openSpill(h.unspilled); err != nil {
			return err
		}
		h.unspilled = nil
	}
	errs := make([]error, len(h.lazy.ready))
	h.parallel(len(errs), func(c int) { errs[c] = h.lazy.check(c) })
	return errors.Join(errs...)
}

// settle makes links that lie in a snapshot the index's own before the writer
// changes the first. Searches go on. The error is ErrCorrupt, and then nothing
// may be changed.
func (h *hnsw) settle() error {
	if h.settled {
		return nil
	}
	if err := h.checkLinks(); err != nil {
		return err
	}
	rooms := make([][]uint32, 0, len(h.nodes))
	slabs(len(h.nodes), 2*h.o.M<<nodeBits, func(room []uint32) { rooms = append(rooms, room) })
	errs := make([]error, len(rooms))
	h.parallel(len(rooms), func(c int) {
		errs[c] = h.guard(func() error { copy(rooms[c], h.nodes[c].room); return nil })
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
