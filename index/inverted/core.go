package inverted

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

// MaxLen is the greatest number of documents of an index.
const MaxLen = 1 << 28

// chunkSize is what forward lists are allocated in.
const chunkSize = 1 << 18

// entry is one term of a document. Counts: it stands there, among the words or
// beside them. Weights: with this weight.
type entry struct {
	term   uint32
	beside bool
	weight float32
}

// core is the state of an index. A document has a slot; slots ascend in the
// order of adding and are not used twice. Of each document its terms are kept
// in their order (the forward list), so that it can be scored, searched for
// pairs, taken back and written down without its text.
type core struct {
	weights bool
	ids     []uint64 // slot -> id
	lengths []uint32 // slot -> number of terms; nil for weights
	alive   []uint64 // a bit a slot
	at      []uint64 // slot -> chunk<<32 | offset of its forward list
	chunks  [][]byte
	lists   []list            // term -> postings
	slots   map[uint64]uint32 // id -> slot of live documents; nil while ids ascend
	live    int
	total   uint64 // terms of live documents

	scratch  []entry // of add
	distinct []uint32
}

// slot returns the slot of a live document.
func (c *core) slot(id uint64) (uint32, bool) {
	if c.slots != nil {
		s, ok := c.slots[id]
		return s, ok
	}
	i := sort.Search(len(c.ids), func(i int) bool { return c.ids[i] >= id })
	if i < len(c.ids) && c.ids[i] == id && c.isAlive(uint32(i)) {
		return uint32(i), true
	}
	return 0, false
}

func (c *core) isAlive(slot uint32) bool { return c.alive[slot/64]>>(slot%64)&1 != 0 }

// add stores a document that is not there yet. Entries of a weighted index
// ascend by term; lists has all terms.
func (c *core) add(id uint64, entries []entry) {
	slot := uint32(len(c.ids))
	if c.slots == nil && slot > 0 && id <= c.ids[slot-1] {
		c.slots = make(map[uint64]uint32, c.live+1)
		for s, id := range c.ids {
			if c.isAlive(uint32(s)) {
				c.slots[id] = uint32(s)
			}
		}
	}
	if c.slots != nil {
		c.slots[id] = slot
	}
	c.ids = append(c.ids, id)
	if slot%64 == 0 {
		c.alive = append(c.alive, 0)
	}
	c.alive[slot/64] |= 1 << (slot % 64)
	c.live++
	c.forward(entries)
	if c.weights {
		for _, e := range entries {
			c.lists[e.term].add(slot, math.Float32bits(e.weight), nil)
		}
		return
	}
	c.lengths = append(c.lengths, uint32(len(entries)))
	c.total += uint64(len(entries))
	d := c.distinct[:0]
	for _, e := range entries {
		d = append(d, e.term)
	}
	slices.Sort(d)
	c.distinct = d
	for i := 0; i < len(d); {
		n := 1
		for i+n < len(d) && d[i+n] == d[i] {
			n++
		}
		c.lists[d[i]].add(slot, uint32(n), c.lengths)
		i += n
	}
}

// remove takes a live document back; its postings stay until the next
// compaction and count nowhere.
func (c *core) remove(slot uint32) {
	c.alive[slot/64] &^= 1 << (slot % 64)
	c.live--
	if c.slots != nil {
		delete(c.slots, c.ids[slot])
	}
	c.scratch = c.entries(c.scratch[:0], slot)
	if !c.weights {
		c.total -= uint64(len(c.scratch))
	}
	d := c.distinct[:0]
	for _, e := range c.scratch {
		d = append(d, e.term)
	}
	slices.Sort(d)
	c.distinct = d
	for i, t := range d {
		if i == 0 || t != d[i-1] {
			c.lists[t].df--
		}
	}
}

// forward appends a forward list: the number of entries, then each as varint
// term<<1 | beside, or term and four bytes of weight.
func (c *core) forward(entries []entry) {
	need := binary.MaxVarintLen32 + len(entries)*(binary.MaxVarintLen32+1)
	if c.weights {
		need += 4 * len(entries)
	}
	last := len(c.chunks) - 1
	if last < 0 || cap(c.chunks[last])-len(c.chunks[last]) < need {
		c.chunks = append(c.chunks, make([]byte, 0, max(chunkSize, need)))
		last++
	}
	b := c.chunks[last]
	c.at = append(c.at, uint64(last)<<32|uint64(len(b)))
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, e := range entries {
		b = appendEntry(b, e, c.weights)
	}
	c.chunks[last] = b
}

func appendEntry(b []byte, e entry, weights bool) []byte {
	if weights {
		b = binary.AppendUvarint(b, uint64(e.term))
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(e.weight))
	}
	v := uint64(e.term) << 1
	if e.beside {
		v |= 1
	}
	return binary.AppendUvarint(b, v)
}

// walk goes through a forward list.
type walk struct {
	b       []byte
	left    int
	weights bool
}

func (c *core) walk(slot uint32) walk {
	at := c.at[slot]
	b := c.chunks[at>>32][uint32(at):]
	n, size := binary.Uvarint(b)
	return walk{b[size:], int(n), c.weights}
}

// next returns the next entry; left says whether there is one.
func (w *walk) next() entry {
	w.left--
	var v uint64
	size := 1
	if v = uint64(w.b[0]); v >= 0x80 {
		if x := w.b[1]; x < 0x80 {
			v, size = v&0x7f|uint64(x)<<7, 2
		} else {
			v, size = binary.Uvarint(w.b)
		}
	}
	w.b = w.b[size:]
	if !w.weights {
		return entry{term: uint32(v >> 1), beside: v&1 != 0}
	}
	e := entry{term: uint32(v), weight: math.Float32frombits(binary.LittleEndian.Uint32(w.b))}
	w.b = w.b[4:]
	return e
}

// entries appends the terms of a document in their order.
func (c *core) entries(dst []entry, slot uint32) []entry {
	for w := c.walk(slot); w.left > 0; {
		dst = append(dst, w.next())
	}
	return dst
}

// liveSlots returns the slots of the live documents, ascending by id.
func (c *core) liveSlots() []uint32 {
	s := make([]uint32, 0, c.live)
	for i := range c.ids {
		if c.isAlive(uint32(i)) {
			s = append(s, uint32(i))
		}
	}
	if c.slots != nil {
		slices.SortFunc(s, func(a, b uint32) int {
			if c.ids[a] < c.ids[b] {
				return -1
			}
			return 1
		})
	}
	return s
}

func (c *core) full() bool { return len(c.ids) >= MaxLen }

func (c *core) bytes() int64 {
	n := 8*cap(c.ids) + 4*cap(c.lengths) + 8*cap(c.alive) + 8*cap(c.at) + 64*cap(c.lists) + 32*len(c.slots)
	for _, b := range c.chunks {
		n += cap(b)
	}
	for i := range c.lists {
		n += cap(c.lists[i].data) + 24*cap(c.lists[i].blocks)
	}
	return int64(n)
}
