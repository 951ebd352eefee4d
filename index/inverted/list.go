package inverted

import (
	"encoding/binary"
	"math"
)

// blockLen postings share one bound.
const blockLen = 128

// list holds the postings of one term, ascending by slot, dead ones included.
// A posting is the gap to the slot before it and a value. Counts: one varint
// gap<<1 | (count > 1), then count-2 as varint where it is above 1; mostly one
// byte or two in all. Weights: the gap as varint, then four bytes.
type list struct {
	df     uint32 // live documents
	n      uint32 // postings
	next   uint32 // lowest slot that the next posting may have
	data   []byte
	blocks []block // of blockLen postings each; the rest of data is the tail
}

// block describes blockLen postings. The best of a block depends on the mean
// length of the documents, which changes with each; so what is kept are the
// shortest documents (slots of them are of no interest) with the term once,
// twice and more often, and the highest count. For weights top is all.
type block struct {
	next     uint32    // last slot + 1
	end      uint32    // its bytes end here in data
	top      uint32    // highest count, or bits of the highest weight
	shortest [3]uint32 // least length with count 1, 2, more; none: MaxUint32
}

func newBlock() block {
	return block{shortest: [3]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32}}
}

// take makes the block's bounds cover a posting.
func (b *block) take(value, length uint32) {
	b.top = max(b.top, value)
	class := min(value, 3) - 1
	b.shortest[class] = min(b.shortest[class], length)
}

// add appends a posting and seals a block that is full. lengths are those of
// all slots, nil for weights.
func (l *list) add(slot, value uint32, lengths []uint32) {
	gap := uint64(slot - l.next)
	switch {
	case lengths == nil:
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
	if l.n%blockLen == 0 {
		var p postings
		p.decode(l, len(l.blocks), lengths == nil)
		b := newBlock()
		b.next, b.end = l.next, uint32(len(l.data))
		for i := range p.n {
			if lengths == nil {
				b.top = max(b.top, p.values[i]) // bits of floats >= 0 are in their order
			} else {
				b.take(p.values[i], lengths[p.slots[i]])
			}
		}
		l.blocks = append(l.blocks, b)
	}
}

// postings are the decoded postings of a block.
type postings struct {
	n             int
	slots, values [blockLen]uint32
}

// decode reads block b of a list; the block after the last sealed one is the
// tail.
func (p *postings) decode(l *list, b int, weights bool) {
	var from, next uint32
	if b > 0 {
		from, next = l.blocks[b-1].end, l.blocks[b-1].next
	}
	p.n = blockLen
	if b == len(l.blocks) && l.n%blockLen != 0 {
		p.n = int(l.n % blockLen)
	}
	data := l.data[from:]
	for i := range p.n {
		var v uint64
		if v = uint64(data[0]); v < 0x80 {
			data = data[1:]
		} else if c := data[1]; c < 0x80 {
			v = v&0x7f | uint64(c)<<7
			data = data[2:]
		} else {
			var size int
			v, size = binary.Uvarint(data)
			data = data[size:]
		}
		value := uint32(1)
		if weights {
			value = binary.LittleEndian.Uint32(data)
			data = data[4:]
		} else {
			if v&1 != 0 {
				count, size := binary.Uvarint(data)
				value = uint32(count) + 2
				data = data[size:]
			}
			v >>= 1
		}
		next += uint32(v)
		p.slots[i], p.values[i] = next, value
		next++
	}
}
