package index

import "math/bits"

// arena holds vectors, or their codes, in chunks of equal size, so that growing neither copies
// nor moves what is there.
type arena[T float32 | int8] struct {
	dim    int
	bits   int // a chunk has 1<<bits rows
	chunks [][]T
}

// newArena makes chunks of up to 1,024 rows and, above dimension 512, of about
// 2 MiB.
func newArena[T float32 | int8](dim int) arena[T] {
	rows := max(1, min(1024, 1<<19/dim))
	return arena[T]{dim: dim, bits: bits.Len(uint(rows)) - 1}
}

// row is the vector in slot i.
func (a *arena[T]) row(i uint32) []T {
	at := int(i&(1<<a.bits-1)) * a.dim
	return a.chunks[i>>a.bits][at : at+a.dim : at+a.dim]
}

// run is the vectors in slots from, from+1, … one after another: at most n of
// them, and no more than the chunk holds; and how many they are.
func (a *arena[T]) run(from, n int) ([]T, int) {
	rows := 1 << a.bits
	at := from & (rows - 1)
	n = min(n, rows-at)
	return a.chunks[from>>a.bits][at*a.dim : (at+n)*a.dim], n
}

// reserve makes room for n slots in all.
func (a *arena[T]) reserve(n int) { *a = a.grown(n) }

// grown is a with room for n slots in all; a may be read meanwhile.
func (a *arena[T]) grown(n int) arena[T] {
	b := *a
	b.chunks = b.chunks[:len(b.chunks):len(b.chunks)]
	need := (n+1<<b.bits-1)>>b.bits - len(b.chunks)
	slabs(more(need, len(b.chunks)), b.dim<<b.bits, func(chunk []T) { b.chunks = append(b.chunks, chunk) })
	return b
}

// adopt makes the rows in data the first ones of an empty arena. If keep is set
// the whole chunks among them are data itself, which must stay as it is and is
// written to when rows change; the rest, else all, is copied.
func (a *arena[T]) adopt(data []T, keep bool) {
	size := a.dim << a.bits
	for ; keep && len(data) >= size; data = data[size:] {
		a.chunks = append(a.chunks, data[:size:size])
	}
	slabs((len(data)+size-1)/size, size, func(chunk []T) {
		data = data[copy(chunk, data):]
		a.chunks = append(a.chunks, chunk)
	})
}

// release gives back the chunks behind slot n.
func (a *arena[T]) release(n int) {
	keep := (n + 1<<a.bits - 1) >> a.bits
	clear(a.chunks[keep:])
	a.chunks = a.chunks[:keep]
}
