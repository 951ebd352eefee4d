package inverted

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/radix"
	"github.com/lexsem/lexsem/internal/vec"
)

// edit builds the next version of a core.
type edit struct {
	c        core // but for lists and dead, which are here
	lists    *cow.Editor[*list]
	dead     *cow.Editor[uint64]
	mark     uint64
	entries  []entry // scratch of the document at hand
	distinct []uint32
	spare    []uint32 // that sorting them took
	near     []*list
}

func (c *core) edit() edit {
	return edit{c: *c, lists: c.lists.Edit(), dead: c.dead.Edit(), mark: marks.Add(1)}
}

func (e *edit) done() *core {
	c := e.c
	c.lists, c.dead = e.lists.Done(), e.dead.Done()
	return &c
}

// put stores a document in place of the one with its id. length is its Length; a weighted index has no
// lengths, and its entries ascend by term.
func (e *edit) put(id uint64, entries []entry, length uint32) error {
	if _, err := e.remove(id); err != nil {
		return err
	}
	c := &e.c
	slot := c.len()
	e.place(id, slot)
	c.ids = append(c.ids, id)
	c.live++
	e.forward(entries)
	if c.weights {
		for _, n := range entries {
			if err := e.post(n.term, slot, math.Float32bits(n.weight)); err != nil {
				return err
			}
		}
		return nil
	}
	c.lengths = append(c.lengths, length)
	c.total += uint64(length)
	d := e.sorted(entries)
	e.ahead(d)
	for i := 0; i < len(d); {
		n := 1
		for i+n < len(d) && d[i+n] == d[i] {
			n++
		}
		if err := e.post(d[i], slot, uint32(n)); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// place makes a slot findable by its id.
func (e *edit) place(id uint64, slot uint32) {
	c := &e.c
	if c.slots.full() {
		c.slots = newTable(2 * (len(c.ids) + 1))
		for i, id := range c.ids {
			c.slots.add(hashID(id), c.from+uint32(i))
		}
	}
	c.slots.add(hashID(id), slot)
}

// sorted returns the terms of entries, ascending and with repetitions.
func (e *edit) sorted(entries []entry) []uint32 {
	d, most := e.distinct[:0], uint32(0)
	for _, n := range entries {
		d, most = append(d, n.term), max(most, n.term)
	}
	e.spare = radix.Sort(d, e.spare, 0, most)
	e.distinct = d
	return d
}

// forward appends the forward list of the next slot.
func (e *edit) forward(entries []entry) {
	c := &e.c
	need := 2*binary.MaxVarintLen32 + len(entries)*(binary.MaxVarintLen32+1)
	if c.weights {
		need += 4 * len(entries)
	}
	last := len(c.chunks) - 1
	if last < 0 || len(c.chunks[last])-c.used < need {
		c.chunks = append(c.chunks, make([]byte, max(chunkSize, need)))
		last++
		c.used = 0
	}
	c.at = append(c.at, uint64(last)<<32|uint64(c.used))
	c.used = len(appendForward(c.chunks[last][:c.used], entries, c.form))
}

// ahead prefetches the lists of terms that will be changed, and their ends, so that the cache misses
// overlap.
func (e *edit) ahead(terms []uint32) {
	near := e.near[:0]
	for _, t := range terms {
		if l := e.lists.At(int(t)); l != nil {
			vec.Prefetch(unsafe.Slice(l, 1), listSize)
			near = append(near, l)
		}
	}
	for _, l := range near {
		if n := len(l.data); n > 0 {
			vec.Prefetch(l.data[n-1:], 1)
		}
	}
	e.near = near
}

// post appends a posting to the list of a term.
func (e *edit) post(term, slot, value uint32) error {
	l, err := e.touch(term)
	if err != nil {
		return err
	}
	return l.add(&e.c, slot, value)
}

// touch returns the list of a term for changing.
func (e *edit) touch(term uint32) (*list, error) {
	l := e.lists.At(int(term))
	if l != nil && l.mark == e.mark {
		return l, nil
	}
	fresh := &list{}
	if l != nil {
		*fresh = *l
	} else if b := e.c.base; b != nil && term < b.terms {
		if err := e.begin(fresh, term); err != nil {
			return nil, err
		}
	}
	fresh.mark = e.mark
	if int(term) >= e.lists.Len() {
		e.lists.Resize(int(term) + 1)
	}
	e.lists.Set(int(term), fresh)
	return fresh, nil
}

// df is the number of live documents with a term.
func (e *edit) df(term uint32) uint32 { return dfOf(&e.c, e.lists, term) }

// begin makes l continue the list of a term in the snapshot: full blocks stay there, the tail is
// copied.
func (e *edit) begin(l *list, term uint32) error {
	v := view{limit: e.c.from}
	if err := e.c.base.view(&v, term); err != nil {
		return err
	}
	l.df, l.n, l.head = v.df, v.n, uint32(len(v.head))
	from := 0
	if n := len(v.head); n > 0 {
		l.before, from = v.head[n-1].next, int(v.head[n-1].end)
	}
	l.next = l.before
	if l.n%blockLen == 0 {
		return nil
	}
	var p postings
	if err := v.decode(&p, len(v.head)); err != nil {
		return err
	}
	l.next = p.slots[p.n-1] + 1
	l.data = slices.Clone(v.bytes[from:])
	return nil
}

// remove removes a document if it exists; its postings stay until the next compaction and are ignored.
func (e *edit) remove(id uint64) (bool, error) {
	c := &e.c
	slot, ok, err := slotOf(c, e.dead, id)
	if !ok {
		return false, err
	}
	old, err := c.entries(nil, slot)
	if err != nil {
		return false, err
	}
	if !c.weights {
		length, err := c.length(slot)
		if err != nil {
			return false, err
		}
		if c.total < uint64(length) {
			return false, corrupt("document %d has more terms than all", id)
		}
		c.total -= uint64(length)
	}
	for i, t := range e.sorted(old) {
		if i > 0 && t == e.distinct[i-1] {
			continue
		}
		if e.df(t) == 0 {
			return false, corrupt("term %d of document %d is in no document", t, id)
		}
		l, err := e.touch(t)
		if err != nil {
			return false, err
		}
		l.df--
	}
	if need := int(slot/64) + 1; need > e.dead.Len() {
		e.dead.Resize(need)
	}
	*e.dead.Ptr(int(slot / 64)) |= 1 << (slot % 64)
	c.live--
	return true, nil
}
