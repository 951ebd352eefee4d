package index

// Keeper is an index that shows the vectors it keeps, as every index of this
// package does.
type Keeper interface {
	Index
	// Vector returns the stored vector of id, of unit length under the cosine
	// metric, nil where id is absent. It is valid, and must not be changed,
	// until the next Add or Delete.
	Vector(id uint64) []float32
}

func (f *flat) Vector(id uint64) []float32 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	slot, ok := f.slots.get(id)
	if !ok {
		return nil
	}
	return f.rows.row(slot)
}

func (h *hnsw) Vector(id uint64) []float32 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	slot, ok := h.slots.get(id)
	if !ok {
		return nil
	}
	return h.rows.row(slot)
}
