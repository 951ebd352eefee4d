package columns

import (
	"math/bits"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
)

// Matches are the documents that met a filter at one state of the columns.
// They never change and are safe for concurrent use.
type Matches struct {
	pages []*matchPage // by the ordinal's high bits; nil where none matches
	held  int          // pages that are not nil
	n     int
	slots int // slots of the columns that are accounted for
	gone  int // deletions that are
}

const pageBits = 12

// matchPage has a bit for each of 4,096 ordinals.
type matchPage [1 << pageBits / 64]uint64

// Len is the number of documents that met the filter.
func (m *Matches) Len() int { return m.n }

// Allow says whether the document with this ordinal met the filter. Cost: two
// reads of memory.
func (m *Matches) Allow(ord uint64) bool {
	n := ord >> pageBits
	if n >= uint64(len(m.pages)) || m.pages[n] == nil {
		return false
	}
	return m.pages[n][ord>>6%uint64(len(matchPage{}))]>>(ord&63)&1 == 1
}

// size is the memory of m in bytes.
func (m *Matches) size() int { return 8*len(m.pages) + m.held<<pageBits/8 }

// Match returns the documents that meet f. It fails with fault.Invalid if f is
// invalid. Cost: with a condition that was asked before, that of what was added
// and deleted since; else one pass over the distinct values and one over all.
func (c *Columns) Match(f filter.Filter) (*Matches, error) {
	if f.Err() != nil {
		return nil, f.Err()
	}
	key := f.String()
	m := c.cache.get(key)
	if m == nil {
		m = &Matches{}
	}
	if m.slots == len(c.ords) && m.gone == len(c.gone) && m.slots > 0 {
		return m, nil
	}
	m, err := c.advance(m, f)
	if err != nil {
		return nil, err
	}
	c.cache.put(key, m)
	return m, nil
}

// advance returns m brought up to date, m itself unchanged: pages that stay the
// same are shared.
func (c *Columns) advance(m *Matches, f filter.Filter) (*Matches, error) {
	to := &Matches{pages: slices.Clone(m.pages), held: m.held, n: m.n, slots: len(c.ords), gone: len(c.gone)}
	var last int
	if n := len(c.ords); n > 0 {
		last = int(c.ords[n-1]>>pageBits) + 1
	}
	to.pages = append(to.pages, make([]*matchPage, max(0, last-len(to.pages)))...)
	own := make([]bool, len(to.pages)) // pages that to does not share with m
	flip := func(ord uint64) {
		n := ord >> pageBits
		if !own[n] {
			own[n] = true
			page := matchPage{}
			if old := to.pages[n]; old != nil {
				page = *old
			} else {
				to.held++
			}
			to.pages[n] = &page
		}
		to.pages[n][ord>>6%uint64(len(matchPage{}))] ^= 1 << (ord & 63)
	}
	for _, slot := range c.gone[m.gone:] {
		if ord := c.ords[slot]; m.Allow(ord) {
			flip(ord)
			to.n--
		}
	}
	if m.slots == len(c.ords) {
		return to, nil
	}
	run := evaluation{c: c, from: m.slots, to: len(c.ords)}
	met, err := filter.Answer(f, &run)
	if err != nil {
		return nil, err
	}
	for i, w := range met {
		for w &= run.mask(i); w != 0; w &= w - 1 {
			flip(c.ords[(run.first()+i)<<6+bits.TrailingZeros64(w)])
			to.n++
		}
	}
	return to, nil
}

// evaluation answers a filter for the slots from one to another: bit sets have
// a bit a slot, beginning with the word that holds the first.
type evaluation struct {
	c        *Columns
	from, to int
	memo     []uint64 // a bit a term, of the condition at hand
}

func (e *evaluation) first() int { return e.from >> 6 }

func (e *evaluation) set() []uint64 { return make([]uint64, (e.to+63)>>6-e.first()) }

// mask are the slots of the i-th word that are asked for and alive.
func (e *evaluation) mask(i int) uint64 {
	w := e.c.live[e.first()+i]
	if i == 0 {
		w &= ^uint64(0) << (e.from & 63)
	}
	return w
}

// All, Not, And, Or and Where are the algebra of bit sets; bits of dead slots
// and of slots before the first mean nothing.
func (e *evaluation) All(yes bool) ([]uint64, error) {
	set := e.set()
	if yes {
		for i := range set {
			set[i] = ^uint64(0)
		}
	}
	return set, nil
}

func (e *evaluation) Not(set []uint64) ([]uint64, error) {
	for i := range set {
		set[i] = ^set[i]
	}
	return set, nil
}

func (e *evaluation) And(set, other []uint64) ([]uint64, error) {
	for i, w := range other {
		set[i] &= w
	}
	return set, nil
}

func (e *evaluation) Or(set, other []uint64) ([]uint64, error) {
	for i, w := range other {
		set[i] |= w
	}
	return set, nil
}

// Where returns the slots with a term that meets q. Where the slots have
// more terms than there are, each term is asked about once, beforehand.
func (e *evaluation) Where(q *filter.Condition) ([]uint64, error) {
	set, d := e.set(), &e.c.terms
	places := d.locate(q.Path())
	meets := func(t uint32) bool {
		x := d.all[t]
		switch places[x.path] {
		case here:
			return q.Meets(x.kind, d.text(t))
		case beneath:
			return q.Beneath()
		}
		return false
	}
	if !slices.ContainsFunc(places, func(p at) bool { return p != elsewhere }) {
		return set, nil
	}
	posts := len(e.c.posts)
	if e.from > 0 {
		posts -= int(e.c.ends[e.from-1])
	}
	if posts < len(d.all) {
		for slot := e.from; slot < e.to; slot++ {
			if slices.ContainsFunc(e.c.of(slot), meets) {
				set[slot>>6-e.first()] |= 1 << (slot & 63)
			}
		}
		return set, nil
	}
	e.memo = append(e.memo[:0], make([]uint64, len(d.all)>>6+1)...)
	for t := range d.all {
		if meets(uint32(t)) {
			e.memo[t>>6] |= 1 << (t & 63)
		}
	}
	for slot := e.from; slot < e.to; slot++ {
		for _, t := range e.c.of(slot) {
			if e.memo[t>>6]>>(t&63)&1 == 1 {
				set[slot>>6-e.first()] |= 1 << (slot & 63)
				break
			}
		}
	}
	return set, nil
}
