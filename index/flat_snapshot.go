package index

import (
	"io"

	"github.com/lexsem/lexsem/internal/section"
)

// WriteTo writes a snapshot: HEAD, IDS, VECS, END. Searches go on; Add and
// Delete wait.
func (f *flat) WriteTo(w io.Writer) (int64, error) {
	f.write.Lock() // not mu: a waiting Add would stop the searches too
	defer f.write.Unlock()
	s := beginSnapshot(w, f.kind(), f.o)
	writeVectors(s, len(f.ids), f.o.Dim,
		func(i int) uint64 { return f.ids[i] },
		func(i int) []float32 { return f.rows.row(uint32(i)) })
	return s.Finish()
}

func loadFlat(f *flat, r *section.Reader, keep bool) (Index, error) {
	f.ids = readVectors(r, f.m, &f.rows, &f.slots, keep, f.o.Workers)
	f.slots.id = func(slot uint32) uint64 { return f.ids[slot] }
	if f.codes != nil && r.Err() == nil {
		f.codes.putAll(&f.rows, len(f.ids), f.o.Workers)
	}
	return f, r.Err()
}
