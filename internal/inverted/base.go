package inverted

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// base is the part of a core that is in a snapshot and is read from there. The whole
// table of lists was checked; every other range is checked before it is read. Nothing in
// it is trusted: impossible numbers are ErrCorrupt.
type base struct {
	slots, terms uint32
	lists        []uint32 // of each term, and of one more, listFields numbers
	blocks       column[uint32]
	postings     *snapshot.Section
	ids          column[uint64]
	lengths      column[uint32]
	at           column[uint64]    // offsets of the forward lists, one more than slots
	entries      *snapshot.Section // forward lists
	index        column[uint32]    // a table from ids to slots
}

// The fields of a list: live documents, postings, first block, and first byte, as low
// half and high half.
const listFields = 5

// column is a section of numbers in a snapshot.
type column[T any] struct {
	section *snapshot.Section
	v       []T
}

// check makes sure that the numbers from..from+n are there and as they were
// written.
func (c *column[T]) check(from, n int) error {
	var zero T
	size := int(unsafe.Sizeof(zero))
	return check(c.section, from*size, n*size)
}

// check makes sure that bytes of a section are as they were written.
func check(s *snapshot.Section, from, n int) error {
	if err := s.Check(from, n); err != nil {
		return wrap(err)
	}
	return nil
}

// wrap turns damage in the snapshot into ErrCorrupt.
func wrap(err error) error {
	if errors.Is(err, snapshot.ErrDamaged) && !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// wrapped turns damage in the error of a call into ErrCorrupt. It is deferred before
// snapshot.Guard, so it runs after it.
func wrapped(err *error) { *err = wrap(*err) }

// id is the id of a slot.
func (b *base) id(slot uint32) (uint64, error) {
	if err := b.ids.check(int(slot), 1); err != nil {
		return 0, err
	}
	return b.ids.v[slot], nil
}

// length is the Length of a slot.
func (b *base) length(slot uint32) (uint32, error) {
	if err := b.lengths.check(int(slot), 1); err != nil {
		return 0, err
	}
	return b.lengths.v[slot], nil
}

// lengthsIn returns the lengths of the slots from..end.
func (b *base) lengthsIn(from, end uint32) ([]uint32, error) {
	if err := b.lengths.check(int(from), int(end-from)); err != nil {
		return nil, err
	}
	return b.lengths.v[from:end], nil
}

// forward returns the bytes of the forward list of a slot.
func (b *base) forward(slot uint32) ([]byte, error) {
	if err := b.at.check(int(slot), 2); err != nil {
		return nil, err
	}
	from, end := b.at.v[slot], b.at.v[slot+1]
	if size := uint64(b.entries.Len()); from > end || end > size {
		return nil, corrupt("forward list at %d to %d of %d bytes", from, end, size)
	}
	data, err := b.entries.Bytes(int(from), int(end-from))
	return data, wrap(err)
}

// df is the number of live documents with a term.
func (b *base) df(term uint32) uint32 { return b.lists[term*listFields] }

// view fills in the postings of a term from the snapshot.
func (b *base) view(v *view, term uint32) error {
	l := b.lists[int(term)*listFields:][:2*listFields]
	v.df, v.n, v.section = l[0], l[1], b.postings
	from, end := uint64(l[3])|uint64(l[4])<<32, uint64(l[8])|uint64(l[9])<<32
	if v.df > v.n || v.n > b.slots || from > end || end > uint64(b.postings.Len()) {
		return corrupt("term %d: %d documents, %d postings at %d to %d", term, v.df, v.n, from, end)
	}
	if n := v.n / blockLen; l[7]-l[2] != n || l[7] < n || uint64(l[7])*uint64(blockFields) > uint64(len(b.blocks.v)) {
		return corrupt("term %d: %d postings in blocks %d to %d", term, v.n, l[2], l[7])
	}
	first, n := int(l[2]), int(v.n/blockLen)
	if err := b.blocks.check(first*blockFields, n*blockFields); err != nil {
		return err
	}
	v.offset, v.bytes = int(from), b.postings.Raw()[from:end:end]
	if n == 0 {
		return nil
	}
	v.head = unsafe.Slice((*block)(unsafe.Pointer(&b.blocks.v[first*blockFields])), n)
	if last := v.head[n-1]; last.next > b.slots || uint64(last.end) > end-from {
		return corrupt("term %d: a block ends at slot %d, byte %d", term, last.next, last.end)
	}
	return nil
}

// blockFields is the number of fields of a block.
const blockFields = blockSize / 4

// bytes is the length of the sections.
func (b *base) bytes() int {
	return 4*len(b.lists) + 4*len(b.blocks.v) + b.postings.Len() + 8*len(b.ids.v) + 4*len(b.lengths.v) +
		8*len(b.at.v) + b.entries.Len() + 4*len(b.index.v)
}

// probe returns the slots that may have the id with this hash.
func (b *base) probe(hash uint64) baseProbe {
	n := uint64(len(b.index.v))
	return baseProbe{b, hash & (n - 1), n}
}

type baseProbe struct {
	b        *base
	at, left uint64
}

// next returns the next slot; ok is false after the last one.
func (p *baseProbe) next() (slot uint32, ok bool, err error) {
	if p.left == 0 {
		return 0, false, nil
	}
	if err := p.b.index.check(int(p.at), 1); err != nil {
		return 0, false, err
	}
	v := p.b.index.v[p.at]
	p.at = (p.at + 1) & uint64(len(p.b.index.v)-1)
	p.left--
	return v - 1, v != 0, nil
}
