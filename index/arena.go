package index

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// arena holds an array of dim elements for each slot, in chunks of equal size, so growing neither copies nor
// moves existing data. It is a value: the results of grown and with share all unchanged chunks.
type arena[T float32 | int8 | uint64] struct {
	dim    int
	bits   int     // a chunk has 1<<bits rows
	chunks [][]T   // nil for a chunk that is out of use
	places []place // of the first chunks; the others lie in memory
	lazy   *lazy   // pieces of chunks that lie in a snapshot; nil if all may be read
	cut    int     // a chunk has 1<<cut pieces
}

// place is the location of a chunk: at a byte offset of a section, or in memory.
type place struct {
	in      *snapshot.Section // nil: in memory
	from, n int
}

// place is the place of chunk c.
func (a *arena[T]) place(c int) place {
	if c < len(a.places) {
		return a.places[c]
	}
	return place{}
}

// watch arranges that the data at the given places, by chunk, are checked when they are first read.
func (a *arena[T]) watch(places []place) {
	var t T
	size := int(unsafe.Sizeof(t)) * a.dim
	cut := max(0, a.bits+1-bits.Len(uint(max(1, pieceBytes/size))))
	piece := size << (a.bits - cut)
	a.cut = cut
	a.lazy = newLazy(len(places)<<cut, func(p, n int) error { // of one chunk
		at := places[p>>cut]
		from := p & (1<<cut - 1) * piece
		if at.in == nil || from >= at.n {
			return nil
		}
		if err := at.in.Check(at.from+from, min(n*piece, at.n-from)); err != nil {
			return corrupt(err)
		}
		return nil
	})
	for p := range a.lazy.pieces { // of memory there is nothing to check
		if at := places[p>>cut]; at.in == nil || p&(1<<cut-1)*piece >= at.n {
			a.lazy.set(p)
		}
	}
}

// laid cuts a section of rows into chunks as a has them, and returns the chunks and their places.
func (a *arena[T]) laid(s *snapshot.Section, numbers func([]byte) []T) (chunks [][]T, places []place) {
	var t T
	chunks = chunked(a, numbers(s.Raw()))
	size := int(unsafe.Sizeof(t))
	for i, c := range chunks {
		places = append(places, place{s, i * a.dim << a.bits * size, len(c) * size})
	}
	return chunks, places
}

// pieceBytes is the approximate size of a piece of a snapshot that is checked at once, or one row if that is larger, so
// that a search for single rows does not wait long.
const pieceBytes = 512

// chunkBits determines the number of slots of a chunk for vectors with dim components: up to 1,024 and, above
// dimension 512, vectors of 2 MiB.
func chunkBits(dim int) int { return bits.Len(uint(max(1, min(1024, 1<<19/dim)))) - 1 }

// row returns the contents of slot i.
func (a *arena[T]) row(i uint32) []T {
	at := int(i&(1<<a.bits-1)) * a.dim
	return a.chunks[i>>a.bits][at : at+a.dim : at+a.dim]
}

// run returns the rows of slots from to from+n-1, which must be in one chunk.
func (a *arena[T]) run(from, n int) []T {
	at := from & (1<<a.bits - 1)
	return a.chunks[from>>a.bits][at*a.dim : (at+n)*a.dim]
}

// check makes chunk c ready for reading, or returns ErrCorrupt if it is damaged.
func (a *arena[T]) check(c int) error {
	if a.lazy == nil {
		return nil
	}
	return a.lazy.checkAll(c<<a.cut, 1<<a.cut)
}

// checkSlot does the same for the data around a slot.
func (a *arena[T]) checkSlot(i uint32) error {
	if a.lazy == nil {
		return nil
	}
	return a.lazy.check(int(i >> (a.bits - a.cut)))
}

// grown is a with room for n slots in total.
func (a arena[T]) grown(n int) arena[T] {
	need := (n+1<<a.bits-1)>>a.bits - len(a.chunks)
	if need <= 0 {
		return a
	}
	filed := 0
	for _, p := range a.places {
		if p.in != nil {
			filed++
		}
	}
	a.chunks = a.chunks[:len(a.chunks):len(a.chunks)]
	slabs(more(need, len(a.chunks)-filed), a.dim<<a.bits, func(chunk []T) { a.chunks = append(a.chunks, chunk) })
	return a
}

// with returns a with other chunks, in memory, at the given places.
func (a arena[T]) with(places []int, chunk func(place int) []T) arena[T] {
	a.chunks, a.places = slices.Clone(a.chunks), slices.Clone(a.places)
	for _, p := range places {
		a.chunks[p] = chunk(p)
		if p < len(a.places) {
			a.places[p] = place{}
		}
	}
	return a
}

// copied is a with full-size copies of the chunks at the given places.
func (a arena[T]) copied(places []int) arena[T] {
	return a.with(places, func(p int) []T {
		chunk := a.blank()
		copy(chunk, a.chunks[p])
		return chunk
	})
}

// blank allocates one chunk.
func (a *arena[T]) blank() (chunk []T) {
	slabs(1, a.dim<<a.bits, func(c []T) { chunk = c })
	return chunk
}

// bytes is the memory of the chunks.
func (a *arena[T]) bytes(size int) (n int64) {
	for _, c := range a.chunks {
		n += int64(len(c) * size)
	}
	return n
}

// lazy checks pieces of a snapshot when they are first read. Unknown pieces count as ready. Concurrent
// readers of a piece may each check it; none waits for another.
type lazy struct {
	pieces int
	left   atomic.Int64    // pieces not found to be ready
	ready  []atomic.Uint64 // a bit a piece
	test   func(piece, n int) error
}

func newLazy(pieces int, test func(piece, n int) error) *lazy {
	l := &lazy{pieces: pieces, ready: make([]atomic.Uint64, (pieces+63)/64), test: test}
	l.left.Store(int64(pieces))
	return l
}

// check makes a piece ready. If its test fails, every call returns the error.
func (l *lazy) check(c int) error {
	if l.left.Load() == 0 || c >= l.pieces || l.has(c) {
		return nil
	}
	return l.first(c, 1)
}

// checkAll makes n pieces from c on ready, with one test.
func (l *lazy) checkAll(c, n int) error {
	if l.left.Load() == 0 {
		return nil
	}
	n = min(n, l.pieces-c)
	for p := range n {
		if !l.has(c + p) {
			return l.first(c, n)
		}
	}
	return nil
}

func (l *lazy) has(c int) bool { return l.ready[c/64].Load()>>(c%64)&1 != 0 }

func (l *lazy) first(c, n int) error {
	if err := l.test(c, n); err != nil {
		return err
	}
	for p := range n {
		l.set(c + p)
	}
	return nil
}

func (l *lazy) set(p int) {
	if bit := uint64(1) << (p % 64); l.ready[p/64].Or(bit)&bit == 0 {
		l.left.Add(-1)
	}
}
