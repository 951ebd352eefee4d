package index

import (
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// writeVectors writes the sections IDS (uint64 each) and VECS (float32, row
// after row) for n vectors.
func writeVectors(w *writer, n, dim int, id func(i int) uint64, row func(i int) []float32) {
	w.section("IDS ", 8*n)
	for i := range n {
		w.u64(id(i))
	}
	w.close()
	w.section("VECS", 4*n*dim)
	for i := range n {
		w.floats(row(i))
	}
	w.close()
}

// readVectors reads what writeVectors wrote into slots 0 to n-1 and returns n.
func readVectors(r *reader, m *metric, rows *arena[float32], slots map[uint64]uint32) (ids []uint64) {
	s := r.section("IDS ")
	n := len(s.data) / 8
	if n > MaxLen {
		s.fail("%d vectors", n)
	}
	v := r.section("VECS")
	if r.err == nil && uint64(len(v.data)) != 4*uint64(n)*uint64(rows.dim) {
		v.fail("%d bytes of vectors for %d ids", len(v.data), n)
	}
	if r.err != nil {
		return nil
	}
	ids = make([]uint64, n)
	rows.reserve(n)
	for i := range ids {
		ids[i] = s.u64()
		if _, twice := slots[ids[i]]; twice {
			s.fail("id %d is there twice", ids[i])
			return nil
		}
		slots[ids[i]] = uint32(i)
		row := rows.row(uint32(i))
		v.floats(row)
		if !m.stored(row) {
			v.fail("vector %d could not have been stored", i)
			return nil
		}
	}
	s.done()
	v.done()
	return ids
}

// stored reports whether v can be a vector that put stored.
func (m *metric) stored(v []float32) bool {
	if !vec.Finite(v) {
		return false
	}
	n := float64(vec.Norm(v))
	if m.unit {
		return math.Abs(n-1) < 1e-3
	}
	return n <= maxNorm
}
