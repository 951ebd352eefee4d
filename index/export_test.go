package index

// GraphSearch searches along the graph of an hnsw index, never by comparing
// with every vector.
func GraphSearch(ix Index, q []float32, k, ef int) []Neighbor {
	h, ok := ix.(*hnsw)
	if !ok {
		return nil
	}
	w := newWalker(h)
	w.begin(h.now, q, SearchOptions{K: k})
	if _, err := h.searchGraph(w, max(ef, k)); err != nil {
		return nil
	}
	order(w.top.heap)
	return w.top.heap
}
