package index

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"unsafe"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// Open opens a saved index of the given kind. Vectors, codes and links are read in place: f must
// stay open as long as the index and every returned vector are used. They are checked when first
// read, 16 KiB or more at a time; a search that finds damage returns ErrCorrupt. Tables, some 30
// bytes a vector, are read at once. Options must be those of the saved index; Ef, Tail and Workers
// may differ. Errors: those of New, ErrMismatch for another kind, format version or options,
// ErrCorrupt. It allocates at most a small multiple of the file's size.
func Open(kind string, o Options, f *snapshot.File) (ix Index, err error) {
	defer corrupted(&err)
	defer snapshot.Guard(&err)()
	if ix, err = New(kind, o); err != nil {
		return nil, err
	}
	p := &opener{f: f}
	switch x := ix.(type) {
	case *flat:
		p.open(&x.base)
		if p.err == nil {
			x.opened()
		}
	case *hnsw:
		p.open(&x.base)
		p.openGraph(x)
	}
	if p.err != nil {
		return nil, p.err
	}
	return ix, nil
}

// opener reads the sections of one index. It keeps the first error.
type opener struct {
	f     *snapshot.File
	err   error
	n     int // slots
	entry uint32
	alive []uint64
}

// corrupt turns an error of a snapshot into one of this package.
func corrupt(err error) error { return fmt.Errorf("%w: %w", ErrCorrupt, err) }

// guarded calls f and turns a fault in a mapped file into ErrCorrupt. It allocates nothing.
func guarded(f func() error) (err error) {
	defer unguard(debug.SetPanicOnFault(true), &err)
	return f()
}

// unguard is deferred by a guarded function; before says whether a fault was a panic before the
// function began.
func unguard(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if p := recover(); p != nil {
		*err = snapshot.Fault(p)
	}
	corrupted(err)
}

// corrupted turns a fault found by snapshot.Guard into ErrCorrupt.
func corrupted(err *error) {
	if errors.Is(*err, snapshot.ErrDamaged) && !errors.Is(*err, ErrCorrupt) {
		*err = corrupt(*err)
	}
}

func (p *opener) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
	}
}

// has reports whether the section exists.
func (p *opener) has(tag string) bool {
	_, err := p.f.Section(tag)
	return err == nil
}

// section returns a section that has n entries of size bytes.
func (p *opener) section(tag string, n, size int) *snapshot.Section {
	if p.err != nil {
		return nil
	}
	s, err := p.f.Section(tag)
	if err != nil {
		p.err = corrupt(err)
		return nil
	}
	if s.Len() != n*size {
		p.fail("section %q has %d bytes, not %d times %d", tag, s.Len(), n, size)
		return nil
	}
	return s
}

// all returns a section after checking it.
func (p *opener) all(tag string, n, size int) []byte {
	s := p.section(tag, n, size)
	if s == nil {
		return nil
	}
	b, err := s.All()
	if err != nil {
		p.err = corrupt(err)
		return nil
	}
	return b
}

// reader reads a section of any length.
func (p *opener) reader(tag string) *snapshot.Reader {
	if p.err != nil {
		return nil
	}
	s, err := p.f.Section(tag)
	if err != nil {
		p.err = corrupt(err)
		return nil
	}
	r := s.Reader()
	if r.Err() != nil {
		p.err = corrupt(r.Err())
		return nil
	}
	return r
}

// open reads everything except a graph.
func (p *opener) open(b *base) {
	r := p.reader(tagHead)
	if p.err != nil {
		return
	}
	if version := r.U32(); r.Err() == nil && version != saveVersion && version != 3 {
		p.err = fmt.Errorf("format version %d, want %d: %w", version, saveVersion, ErrMismatch)
		return
	}
	kind := r.Text()
	got := Options{Metric: r.Text(), Dim: int(r.U32()), M: int(r.U32()), EfConstruction: int(r.U32()), Ef: b.o.Ef, Tail: b.o.Tail, Workers: b.o.Workers}
	n, live, entry := int(r.U32()), int(r.U32()), r.U32()
	got.Seed = r.U64()
	if err := r.Done(); err != nil {
		p.err = corrupt(err)
		return
	}
	if kind != b.kind || got != b.o {
		p.err = fmt.Errorf("snapshot of %q %+v, want %q %+v: %w", kind, got, b.kind, b.o, ErrMismatch)
		return
	}
	if n > maxLen {
		p.fail("%d slots", n)
		return
	}
	p.n, p.entry = n, entry
	p.alive = append(p.alive, snapshot.Uint64s(p.all(tagAlive, (n+63)/64, 8))...)
	x := *b.mem.Load()
	x.ids.chunks = chunked(&x.ids, append([]uint64(nil), snapshot.Uint64s(p.all(tagIDs, n, 8))...))
	openArena(p, tagRows, &x.rows, snapshot.Float32s)
	if x.coded {
		adviseHuge(openArena(p, tagCodes, &x.codes.rows, snapshot.Int8s))
		x.codes.scales.chunks = chunked(&x.codes.scales, p.lengths(tagScales))
		if !x.m.unit {
			x.codes.norms.chunks = chunked(&x.codes.norms, p.lengths(tagNorms))
		}
		if x.codes.by == byInt4 {
			x.codes.losts.chunks = chunked(&x.codes.losts, p.losts())
		}
	}
	if p.err != nil {
		return
	}
	v := &view{mem: &x, n: n}
	e := v.alive.Edit()
	e.Resize(len(p.alive))
	for i, word := range p.alive {
		e.Set(i, word)
		v.live += bits.OnesCount64(word)
	}
	v.alive = e.Done()
	if v.live != live || n&63 != 0 && p.alive[n>>6]>>(n&63) != 0 {
		p.fail("%d of %d slots are live, not %d", v.live, n, live)
		return
	}
	p.openTable(&b.slots, live)
	b.mem.Store(&x)
	b.publish(v, nil)
	b.owned, b.wrote = make([]bool, len(x.rows.chunks)), make([]uint64, len(x.rows.chunks))
}

// lengths reads scales or norms. With wrong lengths, the error bound of codes would be wrong.
func (p *opener) lengths(tag string) []float32 {
	all := append([]float32(nil), snapshot.Float32s(p.all(tag, p.n, 4))...)
	for i, x := range all {
		if !(x >= 0 && x <= maxNorm*1.001) {
			p.fail("section %q has %g for slot %d", tag, x, i)
			return nil
		}
	}
	return all
}

// losts reads the lengths that codes lost of rows, which must not be negative.
func (p *opener) losts() []int8 {
	all := append([]int8(nil), snapshot.Int8s(p.all(tagLosts, p.n, 1))...)
	for i, x := range all {
		if x < 0 {
			p.fail("section %q has %d for slot %d", tagLosts, x, i)
			return nil
		}
	}
	return all
}

// chunked cuts the data of an arena into chunks.
func chunked[T float32 | int8 | uint64](a *arena[T], all []T) (chunks [][]T) {
	for size := a.dim << a.bits; len(all) > 0; {
		n := min(size, len(all))
		chunks, all = append(chunks, all[:n:n]), all[n:]
	}
	return chunks
}

// openArena uses a section in place, arranges that it is checked later, and returns its bytes.
func openArena[T float32 | int8 | uint64](p *opener, tag string, a *arena[T], numbers func([]byte) []T) []byte {
	var t T
	s := p.section(tag, p.n, int(unsafe.Sizeof(t))*a.dim)
	if s == nil {
		return nil
	}
	a.chunks, a.places = a.laid(s, numbers)
	a.watch(a.places)
	return s.Raw()
}

// openTable reads the table of ids, which must contain each live slot once.
func (p *opener) openTable(t *idTable, live int) {
	r := p.reader(tagTable)
	if p.err != nil {
		return
	}
	var sizes [64]int
	for i := range sizes {
		sizes[i], t.shards[i].n = int(r.U32()), int(r.U32())
	}
	left := append([]uint64(nil), p.alive...)
	for i, size := range sizes {
		s := &t.shards[i]
		if s.slots = append(s.slots, r.Uint32s(size)...); size&(size-1) != 0 || 4*s.n > 3*size || len(s.slots) != size {
			p.fail("table of ids")
			return
		}
		n := 0
		for _, v := range s.slots {
			if v == 0 {
				continue
			}
			n++
			slot := v - 1
			if int(slot) >= p.n || left[slot>>6]>>(slot&63)&1 == 0 {
				p.fail("table of ids has slot %d", slot)
				return
			}
			left[slot>>6] &^= 1 << (slot & 63)
		}
		if live -= n; n != s.n {
			p.fail("table of ids has %d in a place for %d", n, s.n)
			return
		}
		t.n.Add(int64(n))
	}
	if err := r.Done(); err != nil {
		p.err = corrupt(err)
	} else if live != 0 {
		p.fail("table of ids lacks %d", live)
	}
}

// opened prepares the chunks of a snapshot.
func (f *flat) opened() {
	v, rows := f.now, f.rows()
	slots := make([]uint32, rows)
	for c := range v.mem.rows.chunks {
		used := min(rows, v.n-c*rows)
		f.used = append(f.used, used)
		f.dead = append(f.dead, used-v.pick(slots, c*rows, used))
		if used < rows {
			f.tail = c
		}
	}
}
