package inverted

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// blockLen is the number of postings that share a bound.
const blockLen = 128

// list holds the postings of one term that are not in a snapshot, ascending by slot, dead
// ones included. It never changes after its edit; the next one appends after its data and
// blocks. A posting is the gap to the slot before it and a value. Counts: one varint
// gap<<1 | (count > 1), then count-2 as varint if the count is above 1; usually one or
// two bytes. Weights: the gap as varint, then four bytes.
type list struct {
	mark   uint64 // of the edit that made it
	df     uint32 // live documents
	n      uint32 // postings, those of the head included
	next   uint32 // lowest slot that the next posting may have
	head   uint32 // full blocks of the snapshot that come before
	before uint32 // lowest slot that the first posting after these may have
	blocks []block
	data   []byte
}

// block describes blockLen postings. The best score in a block depends on the mean length
// of the documents, which changes with each document. So a block stores the lengths of
// its shortest documents with the term once, twice and more often, and the highest count.
// With weights it stores only top.
type block struct {
	next     uint32    // last slot + 1
	end      uint32    // its bytes end here
	top      uint32    // highest count, or bits of the highest weight
	shortest [3]uint32 // least length with count 1, 2, more; none: MaxUint32
}

const (
	listSize  = int(unsafe.Sizeof(list{}))
	blockSize = int(unsafe.Sizeof(block{}))
)

func newBlock() block {
	return block{shortest: [3]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32}}
}

// take extends the block's bounds to a posting.
func (b *block) take(value, length uint32) {
	b.top = max(b.top, value)
	class := min(value, 3) - 1
	b.shortest[class] = min(b.shortest[class], length)
}

// bound returns the bounds over the postings of p, without the field end.
func (c *core) bound(p *postings) (block, error) {
	b := newBlock()
	if p.n > 0 {
		b.next = p.slots[p.n-1] + 1
	}
	for i := range p.n {
		if c.weights {
			b.top = max(b.top, p.values[i]) // bits of floats >= 0 are in their order
			continue
		}
		length, err := c.length(p.slots[i])
		if err != nil {
			return b, err
		}
		b.take(p.values[i], length)
	}
	return b, nil
}

// add appends a posting of slot, the last one of c, and seals the block if it is full.
func (l *list) add(c *core, slot, value uint32) error {
	gap := uint64(slot - l.next)
	switch {
	case c.weights:
		l.data = binary.AppendUvarint(l.data, gap)
		l.data = binary.LittleEndian.AppendUint32(l.data, value)
	case value == 1:
		l.data = binary.AppendUvarint(l.data, gap<<1)
	default:
		l.data = binary.AppendUvarint(l.data, gap<<1|1)
		l.data = binary.AppendUvarint(l.data, uint64(value-2))
	}
	l.next = slot + 1
	l.n++
	l.df++
	if l.n%blockLen != 0 {
		return nil
	}
	from, next := uint32(0), l.before
	if n := len(l.blocks); n > 0 {
		from, next = l.blocks[n-1].end, l.blocks[n-1].next
	}
	var p postings
	if err := p.decode(l.data[from:], blockLen, next, c.len(), c.weights); err != nil {
		return err
	}
	b, err := c.bound(&p)
	if err != nil {
		return err
	}
	b.end = uint32(len(l.data))
	l.blocks = append(l.blocks, b)
	return nil
}

// postings are the decoded postings of a block.
type postings struct {
	n             int
	slots, values [blockLen]uint32
}

// decode reads n postings, which take all of data, from slot next on; slots are below
// limit. For any bytes, if there is no error, slots ascend and are below limit, and
// counts are within 1 to 2³¹.
func (p *postings) decode(data []byte, n int, next, limit uint32, weights bool) error {
	p.n = 0
	slot, all, at := uint64(next), uint64(0), 0
	for i := range n {
		if at >= len(data) {
			return corrupt("postings end early")
		}
		v := uint64(data[at])
		at++
		if v >= 0x80 {
			if at < len(data) && data[at] < 0x80 {
				v = v&0x7f | uint64(data[at])<<7
				at++
			} else {
				long, size := binary.Uvarint(data[at-1:])
				if size <= 0 {
					return corrupt("postings end early")
				}
				v = long
				at += size - 1
			}
		}
		value := uint32(1)
		if weights {
			if len(data)-at < 4 {
				return corrupt("postings end early")
			}
			value = binary.LittleEndian.Uint32(data[at:])
			at += 4
		} else {
			if v&1 != 0 {
				count, size := binary.Uvarint(data[at:])
				if size <= 0 {
					return corrupt("postings end early")
				}
				value = uint32(count) + 2
				at += size
				all |= count
			}
			v >>= 1
		}
		all |= v
		slot += v
		p.slots[i], p.values[i] = uint32(slot), value
		slot++
	}
	if all >= 1<<31 || slot > uint64(limit) || at != len(data) {
		return corrupt("postings of slots beyond %d, or bytes beyond them", limit)
	}
	p.n = n
	return nil
}
