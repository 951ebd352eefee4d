package index

import (
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// ForgetRows lets the system remove from memory the float32 vectors of the file from which an
// index was opened or to which it was remapped. Searches read them again as needed; codes and
// links stay.
func ForgetRows(f *snapshot.File) {
	if rows, err := f.Section(tagRows); err == nil {
		rows.Forget(0, rows.Len())
	}
}

// Mark is the time of a SaveMarked. The zero Mark belongs to no save.
type Mark struct {
	of     *base
	at     uint64 // which of the saves of the index
	places []int  // of the chunks that were written, by their number in the file
	n      int    // slots
}

func (f *flat) Remap(m Mark, file *snapshot.File, retired func()) error {
	f.write.Lock()
	defer f.write.Unlock()
	return f.remap(m, file, retired)
}

func (h *hnsw) Remap(m Mark, file *snapshot.File, retired func()) error {
	h.write.Lock()
	defer h.write.Unlock()
	if err := h.settle(); err != nil { // links may lie in the file before
		return err
	}
	return h.remap(m, file, retired)
}

// remap is Remap without the graph. The caller holds write.
func (b *base) remap(m Mark, f *snapshot.File, retired func()) error {
	if m.of != b {
		return fmt.Errorf("the mark is of another index: %w", ErrMismatch)
	}
	x := b.mem.Load()
	p := &opener{f: f}
	rows := p.section(tagRows, m.n, 4*b.o.Dim)
	codes := rows
	if x.coded {
		codes = p.section(tagCodes, m.n, x.codes.rows.dim)
	}
	if p.err != nil {
		return fmt.Errorf("not the file of the mark: %w: %w", ErrMismatch, p.err)
	}
	taken := map[int]int{} // number in the file by place
	for i, c := range m.places[:m.n>>x.rows.bits] {
		if b.wrote[c] < m.at {
			taken[c] = i
		}
	}
	var left []int // in the file before
	for c := range x.rows.chunks {
		if _, ok := taken[c]; !ok && x.lies(c) {
			left = append(left, c)
		}
	}
	if err := b.own(left); err != nil {
		return err
	}
	g := *b.mem.Load()
	g.rows = remapped(g.rows, rows, snapshot.Float32s, taken, true)
	if g.coded {
		g.codes.rows = remapped(g.codes.rows, codes, snapshot.Int8s, taken, false)
	}
	for c := range taken {
		b.owned[c] = false
	}
	b.mem.Store(&g)
	v := *b.now
	v.mem = &g
	b.publish(&v, retired)
	return nil
}

// Unmapped is described at Index.
func (b *base) Unmapped() (n int) {
	x := b.mem.Load()
	for c, chunk := range x.rows.chunks {
		if chunk != nil && x.rows.place(c).in == nil {
			n += 1 << x.rows.bits
		}
	}
	return n
}

// lies reports whether a chunk, or part of it, is in a snapshot.
func (x *memory) lies(c int) bool {
	return x.rows.place(c).in != nil || x.codes.rows.place(c).in != nil
}

// remapped is a with the chunks of a section at the taken places; chunks in memory are replaced
// only if all is set.
func remapped[T float32 | int8](a arena[T], s *snapshot.Section, numbers func([]byte) []T, taken map[int]int, all bool) arena[T] {
	chunks, laid := a.laid(s, numbers)
	places := append(slices.Clone(a.places), make([]place, len(a.chunks)-len(a.places))...)
	a.chunks = slices.Clone(a.chunks)
	for c, i := range taken {
		if all || places[c].in != nil {
			a.chunks[c], places[c] = chunks[i], laid[i]
		}
	}
	a.places = places
	a.watch(places)
	return a
}
