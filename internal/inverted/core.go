package inverted

import (
	"fmt"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/cow"
)

// MaxLen is the greatest number of documents of an index.
const MaxLen = 1 << 28

// core is a value of an index, which never changes. A document has a slot; slots ascend
// in the order of adding and are not used twice. The terms of each document are kept in
// their order (the forward list), so that it can be scored, searched for pairs, removed
// and saved without its text.
//
// The slots below from, and their postings, are in a snapshot. The next value of a core
// appends beyond the length that this one sees, and shares everything except the lists
// that it changes.
type core struct {
	weights bool
	form    form  // of forward lists
	base    *base // nil for none
	from    uint32
	ids     []uint64 // of the slots from..
	lengths []uint32 // Length of the slots from border()..; nil for weights
	at      []uint64 // chunk<<32 | offset of the forward lists, of the slots from..
	chunks  [][]byte // each as long as it can get
	used    int      // bytes of the last chunk
	lists   cow.Array[*list]
	dead    cow.Array[uint64] // a bit a slot
	slots   *table            // from ids to the slots from..
	live    int
	total   uint64 // terms of live documents
	line    *line
}

// line identifies all values that were made from one by edits.
type line struct{ _ byte }

// marks counts edits.
var marks atomic.Uint64

func newCore(f form) *core {
	return &core{weights: f == weighted, form: f, slots: newTable(0), line: &line{}}
}

// len is the number of slots.
func (c *core) len() uint32 { return c.from + uint32(len(c.ids)) }

// border is the first slot whose length is not read from the snapshot. It is rounded down
// to 64, since a word of dead may also have later slots.
func (c *core) border() uint32 { return c.from &^ 63 }

// bitmap is a cow.Array of uint64, or its form in an edit.
type bitmap interface{ At(i int) uint64 }

func has[D bitmap](dead D, slot uint32) bool { return dead.At(int(slot/64))>>(slot%64)&1 != 0 }

// slot returns the slot of a live document.
func (c *core) slot(id uint64) (uint32, bool, error) { return slotOf(c, c.dead, id) }

// slotOf is slot with dead instead of that of c.
func slotOf[D bitmap](c *core, dead D, id uint64) (uint32, bool, error) {
	hash := hashID(id)
	for p := c.slots.probe(hash); ; {
		slot, ok := p.next()
		if !ok {
			break
		}
		if i := slot - c.from; i < uint32(len(c.ids)) && c.ids[i] == id && !has(dead, slot) {
			return slot, true, nil
		}
	}
	if c.base == nil {
		return 0, false, nil
	}
	for p := c.base.probe(hash); ; {
		slot, ok, err := p.next()
		if !ok {
			return 0, false, err
		}
		if slot >= c.from || has(dead, slot) {
			continue
		}
		if other, err := c.base.id(slot); err != nil || other == id {
			return slot, err == nil, err
		}
	}
}

// id is the id of a slot.
func (c *core) id(slot uint32) (uint64, error) {
	if slot < c.from {
		return c.base.id(slot)
	}
	return c.ids[slot-c.from], nil
}

// length is the Length of a slot.
func (c *core) length(slot uint32) (uint32, error) {
	if slot < c.border() {
		return c.base.length(slot)
	}
	return c.lengths[slot-c.border()], nil
}

// lengthsIn returns the lengths of the slots from..end, which must be on one side of the
// border; nil for weights.
func (c *core) lengthsIn(from, end uint32) ([]uint32, error) {
	if c.weights {
		return nil, nil
	}
	if from < c.border() {
		return c.base.lengthsIn(from, end)
	}
	return c.lengths[from-c.border():], nil
}

// view returns the postings of a term.
func (c *core) view(term uint32) (v view, err error) {
	v.weights, v.limit = c.weights, c.len()
	l := c.lists.At(int(term))
	if l == nil {
		if c.base == nil || term >= c.base.terms {
			return v, nil
		}
		return v, c.base.view(&v, term)
	}
	if l.head > 0 {
		if err := c.base.view(&v, term); err != nil {
			return v, err
		}
		if int(l.head) != len(v.head) {
			return v, corrupt("term %d has %d blocks, had %d", term, len(v.head), l.head)
		}
		v.cut()
	}
	v.df, v.n, v.blocks, v.data = l.df, l.n, l.blocks, l.data
	return v, nil
}

// df is the number of live documents with a term.
func (c *core) df(term uint32) uint32 { return dfOf(c, c.lists, term) }

// dfOf is df with lists instead of those of c.
func dfOf[L interface{ At(i int) *list }](c *core, lists L, term uint32) uint32 {
	if l := lists.At(int(term)); l != nil {
		return l.df
	}
	if c.base != nil && term < c.base.terms {
		return c.base.df(term)
	}
	return 0
}

// walk begins to read the forward list of a slot.
func (c *core) walk(slot uint32) (walk, error) {
	if slot < c.from {
		b, err := c.base.forward(slot)
		if err != nil {
			return walk{}, err
		}
		return newWalk(b, c.form)
	}
	at := c.at[slot-c.from]
	return newWalk(c.chunks[at>>32][uint32(at):], c.form)
}

// forward returns the forward list of a slot.
func (c *core) forward(slot uint32) ([]byte, error) {
	if slot < c.from {
		return c.base.forward(slot)
	}
	at := c.at[slot-c.from]
	b := c.chunks[at>>32][uint32(at):]
	w, err := newWalk(b, c.form)
	if err != nil {
		return nil, err
	}
	for w.left > 0 {
		w.next()
	}
	return b[:len(b)-len(w.b)], w.end()
}

// entries appends the terms of a slot in their order.
func (c *core) entries(dst []entry, slot uint32) ([]entry, error) {
	w, err := c.walk(slot)
	if err != nil {
		return dst, err
	}
	for w.left > 0 {
		dst = append(dst, w.next())
	}
	return dst, w.end()
}

// Len returns the number of documents.
func (c *core) Len() int { return c.live }

// bytes is the memory of the value, whether shared or not, including its part of the
// snapshot.
func (c *core) bytes() int64 {
	n := 8*cap(c.ids) + 4*cap(c.lengths) + 8*cap(c.at) + 4*len(c.slots.entries) + 8*c.dead.Len()
	for _, b := range c.chunks {
		n += cap(b)
	}
	for _, l := range c.lists.All {
		n += 8
		if l != nil {
			n += listSize + cap(l.data) + blockSize*cap(l.blocks)
		}
	}
	if c.base != nil {
		n += c.base.bytes()
	}
	return int64(n)
}

// corrupt returns ErrCorrupt for impossible numbers.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
}
