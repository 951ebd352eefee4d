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

// Lie counts the chunks of an index whose vectors, and whose codes, lie in a file.
func Lie(ix Index) (rows, codes int) {
	var b *base
	switch x := ix.(type) {
	case *flat:
		b = &x.base
	case *hnsw:
		b = &x.base
	}
	b.write.Lock()
	defer b.write.Unlock()
	for _, x := range []*memory{b.mem.Load(), b.now.mem} {
		rows, codes = 0, 0
		for c := range x.rows.chunks {
			if x.rows.place(c).in != nil {
				rows++
			}
			if x.codes.rows.place(c).in != nil {
				codes++
			}
		}
	}
	return rows, codes
}
