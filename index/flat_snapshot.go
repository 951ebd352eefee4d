package index

import "io"

// WriteTo writes a snapshot: HEAD, IDS, VECS, END. Searches go on; Add and
// Delete wait.
func (f *flat) WriteTo(w io.Writer) (int64, error) {
	f.write.Lock() // not mu: a waiting Add would stop the searches too
	defer f.write.Unlock()
	s := &writer{w: w}
	s.header(f.kind(), f.o)
	writeVectors(s, len(f.ids), f.o.Dim,
		func(i int) uint64 { return f.ids[i] },
		func(i int) []float32 { return f.rows.row(uint32(i)) })
	return s.finish()
}

func loadFlat(f *flat, r *reader) (Index, error) {
	f.ids = readVectors(r, f.m, &f.rows, f.slots)
	if f.codes != nil {
		f.codes.putAll(&f.rows, len(f.ids), f.o.Workers)
	}
	return f, r.err
}
