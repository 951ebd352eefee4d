package index

import (
	"math"

	"github.com/lexsem/lexsem/internal/section"
	"github.com/lexsem/lexsem/internal/vec"
)

// writeVectors writes the sections IDS (uint64 each) and VECS (float32, row
// after row, aligned to 64 bytes) for n vectors.
func writeVectors(w *section.Writer, n, dim int, id func(i int) uint64, row func(i int) []float32) {
	w.Begin("IDS ", 8*n)
	for i := range n {
		w.U64(id(i))
	}
	w.Close()
	w.Align(64)
	w.Begin("VECS", 4*n*dim)
	for i := range n {
		w.Floats(row(i))
	}
	w.Close()
}

// readVectors reads what writeVectors wrote into slots 0 to n-1. With keep, rows
// may go on using the memory of r.
func readVectors(r *section.Reader, m *metric, rows *arena[float32], slots *idTable, keep bool, workers int) []uint64 {
	s := r.Section("IDS ")
	n := s.Len() / 8
	if n > MaxLen {
		s.Fail("%d vectors", n)
	}
	v := r.Section("VECS")
	if r.Err() == nil && uint64(v.Len()) != 4*uint64(n)*uint64(rows.dim) {
		v.Fail("%d bytes of vectors for %d ids", v.Len(), n)
	}
	if r.Err() != nil {
		return nil
	}
	ids := make([]uint64, n)
	*slots = idTable{id: func(slot uint32) uint64 { return ids[slot] }} // until the index can say
	slots.reserve(n)
	for i := range ids {
		ids[i] = s.U64()
		slots.put(ids[i], uint32(i))
	}
	s.Done()
	if slots.n != n {
		s.Fail("an id is there twice")
		return nil
	}
	floats, shared := v.Floats(n * rows.dim)
	v.Done()
	rows.adopt(floats, !shared || keep)
	const piece = 1024
	bad := make([]int, (n+piece-1)/piece) // the first bad one of each piece, + 1
	parallel(workers, len(bad), func(p int) {
		for i := p * piece; i < min(n, (p+1)*piece); i++ {
			if !m.stored(rows.row(uint32(i))) {
				bad[p] = i + 1
				return
			}
		}
	})
	for _, i := range bad {
		if i > 0 {
			v.Fail("vector %d could not have been stored", i-1)
			return nil
		}
	}
	return ids
}

// stored reports whether v can be a vector that put stored. With a NaN no
// comparison is true.
func (m *metric) stored(v []float32) bool {
	n := float64(vec.Dot(v, v))
	if m.unit {
		return math.Abs(n-1) < 2e-3
	}
	return n <= maxNorm*maxNorm*1.001
}
