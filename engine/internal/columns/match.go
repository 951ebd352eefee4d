package columns

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/value"
)

// Matches are the documents that met a filter at one state of the columns.
// They never change and are safe for concurrent use.
type Matches struct {
	pages []*matchPage // by the ordinal's high bits; nil where none matches
	held  int          // pages that are not nil
	n     int
	at    state
}

const pageBits = 12

// matchPage has a bit for each of 4,096 ordinals.
type matchPage [1 << pageBits / 64]uint64

// Len is the number of documents that met the filter.
func (m *Matches) Len() int { return m.n }

// Allow reports whether the document with this ordinal met the filter. Cost: two reads of memory.
func (m *Matches) Allow(ord uint64) bool {
	n := ord >> pageBits
	if n >= uint64(len(m.pages)) || m.pages[n] == nil {
		return false
	}
	return m.pages[n][ord>>6%uint64(len(matchPage{}))]>>(ord&63)&1 == 1
}

// All calls yield with the ordinals of the documents that met the filter, ascending.
func (m *Matches) All(yield func(ord uint64) bool) {
	for n, page := range m.pages {
		if page == nil {
			continue
		}
		for i, w := range page {
			for ; w != 0; w &= w - 1 {
				if !yield(uint64(n)<<pageBits | uint64(i)<<6 | uint64(bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// size is the memory of m in bytes.
func (m *Matches) size() int { return 8*len(m.pages) + m.held<<pageBits/8 }

// IDs calls fn with the ids from from to before below, in byte order, and with their ordinals. below = ""
// means no end. It returns the error of fn, or of ctx.
type IDs func(ctx context.Context, from, below string, fn func(id string, ord uint64) error) error

// Match returns the documents that meet f; ids are those of the same commit, nil if f has no condition on
// them. Errors: engine.ErrInvalid if f is invalid, that of ctx, which is checked about every 0.1 ms,
// ErrCorrupt. Cost of a new condition: one pass over the distinct
// values and one over all values. Cost of a condition that was used before: the documents added and deleted since. A condition on id reads each id in its
// ranges, even if it was used before.
func (c *Columns) Match(ctx context.Context, f filter.Filter, ids IDs) (_ *Matches, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := f.String()
	m := c.line.cache.get(key, c.state())
	if m == nil {
		m = &Matches{}
	}
	if m.at == c.state() {
		return m, nil
	}
	if m, err = c.advance(ctx, m, f, ids); err != nil {
		return nil, err
	}
	c.line.cache.put(key, m)
	return m, nil
}

// advance returns m updated to the state of c; m itself does not change, and unchanged pages are shared.
func (c *Columns) advance(ctx context.Context, m *Matches, f filter.Filter, ids IDs) (*Matches, error) {
	to := &Matches{pages: slices.Clone(m.pages), held: m.held, n: m.n, at: c.state()}
	if last, any := c.rows.last(); any {
		to.pages = append(to.pages, make([]*matchPage, max(0, int(last>>pageBits)+1-len(to.pages)))...)
	}
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
	e := evaluation{c: c, ids: ids, from: m.at.rows, to: c.rows.len(), ticker: ticker{ctx: ctx}}
	for _, ord := range c.gone[m.at.gone:] {
		if err := e.tick(1); err != nil {
			return nil, err
		}
		if m.Allow(ord) {
			flip(ord)
			to.n--
		}
	}
	if e.from == e.to {
		return to, nil
	}
	met, err := filter.Answer(f, &e)
	if err != nil {
		return nil, err
	}
	k := c.rows.holding(e.from)
	s := c.rows.segment(k)
	for i, w := range met {
		if err := e.tick(1 + bits.OnesCount64(w)); err != nil {
			return nil, err
		}
		for ; w != 0; w &= w - 1 {
			slot := (e.word()+i)<<6 + bits.TrailingZeros64(w)
			if slot < e.from || slot >= e.to || c.dead.Has(uint64(slot)) {
				continue
			}
			for slot >= s.first+len(s.ords) {
				k++
				s = c.rows.segment(k)
			}
			flip(s.base + uint64(s.ords[slot-s.first]))
			to.n++
		}
	}
	return to, nil
}

// ticker checks a context after every few thousand small steps.
type ticker struct {
	ctx  context.Context
	done int
}

// Step is tick for filters.
func (t *ticker) Step(steps int) error { return t.tick(steps) }

func (t *ticker) tick(steps int) error {
	if t.done += steps; t.done < 4096 {
		return nil
	}
	t.done = 0
	return t.ctx.Err()
}

// evaluation answers a filter for a range of slots, in the algebra of bit sets: a bit for each slot,
// beginning with the word of the first. Bits of dead slots and of slots out of range are undefined.
type evaluation struct {
	c        *Columns
	ids      IDs
	from, to int
	memo     []uint64 // a bit a term, of the condition at hand
	ticker
}

func (e *evaluation) word() int { return e.from >> 6 }

func (e *evaluation) All(yes bool) ([]uint64, error) {
	set := make([]uint64, (e.to+63)>>6-e.word())
	if yes {
		for i := range set {
			set[i] = ^uint64(0)
		}
	}
	return set, e.tick(len(set) / 8)
}

func (e *evaluation) Not(set []uint64) ([]uint64, error) {
	for i := range set {
		set[i] = ^set[i]
	}
	return set, e.tick(len(set) / 8)
}

func (e *evaluation) And(set, other []uint64) ([]uint64, error) {
	for i, w := range other {
		set[i] &= w
	}
	return set, e.tick(len(set) / 8)
}

func (e *evaluation) Or(set, other []uint64) ([]uint64, error) {
	for i, w := range other {
		set[i] |= w
	}
	return set, e.tick(len(set) / 8)
}

// Where returns the slots with a term that meets q. If the slots together have more terms than exist,
// each term is tested once beforehand.
func (e *evaluation) Where(q *filter.Condition) ([]uint64, error) {
	set, err := e.All(false)
	if err != nil {
		return nil, err
	}
	places, any, err := e.locate(q.Path())
	if err != nil || !any {
		return set, err
	}
	meets := func(b *block, i int) (bool, error) {
		switch tag := b.tags[i]; places[pathOf(tag)] {
		case here:
			text := b.at(i)
			return q.Meets(kindOf(tag), text), e.tick(4 + len(text)/256)
		case beneath:
			return q.Beneath(), nil
		}
		return false, nil
	}
	terms, memo := &e.c.terms, e.posts() >= e.c.terms.len()
	if memo {
		e.memo = append(e.memo[:0], make([]uint64, terms.len()>>6+1)...)
		for k := range terms.blocks() {
			b := terms.block(k)
			if err := b.stored.ready(); err != nil {
				return nil, err
			}
			for i := range b.tags {
				ok, err := meets(b, i)
				if err != nil {
					return nil, err
				}
				if ok {
					t := k*blockLen + i
					e.memo[t>>6] |= 1 << (t & 63)
				}
			}
			if err := e.tick(blockLen / 4); err != nil {
				return nil, err
			}
		}
	}
	one := func(list []uint32) (bool, error) { // one of list meets q
		for _, t := range list {
			b := terms.block(int(t / blockLen))
			if err := b.stored.ready(); err != nil {
				return false, err
			}
			if ok, err := meets(b, int(t%blockLen)); ok || err != nil {
				return ok, err
			}
			if err := e.tick(4); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	if memo {
		one = func(list []uint32) (bool, error) {
			for _, t := range list {
				if e.memo[t>>6]>>(t&63)&1 == 1 {
					return true, nil
				}
			}
			return false, nil
		}
	}
	for k := e.c.rows.holding(e.from); k < e.c.rows.segments(); k++ {
		s := e.c.rows.segment(k)
		if err := s.stored.ready(); err != nil {
			return nil, err
		}
		if err := e.tick(len(s.ords) + len(s.posts)/4); err != nil {
			return nil, err
		}
		for i := max(e.from-s.first, 0); i < len(s.ords); i++ {
			ok, err := one(s.of(i))
			if err != nil {
				return nil, err
			}
			if slot := s.first + i; ok {
				set[slot>>6-e.word()] |= 1 << (slot & 63)
			}
		}
	}
	return set, nil
}

// WhereID returns the slots of documents whose id meets q.
func (e *evaluation) WhereID(q *filter.Condition) ([]uint64, error) {
	if e.ids == nil {
		return nil, fmt.Errorf("%w: a filter on id, where no ids are known", fault.ErrInvalid)
	}
	set, err := e.All(false)
	if err != nil {
		return nil, err
	}
	one := func(id string, ord uint64) error {
		slot, ok := e.c.rows.find(ord)
		switch {
		case !ok:
			return corruptf("no row of version %d", ord)
		case slot >= e.from && slot < e.to && q.Meets(value.String, []byte(id)):
			set[slot>>6-e.word()] |= 1 << (slot & 63)
		}
		return e.tick(4)
	}
	for _, r := range q.IDs() {
		if err := e.ids(e.ctx, r.From, r.Below, one); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// posts returns a rough number of the terms in the slots.
func (e *evaluation) posts() int {
	n := 0
	for k := e.c.rows.holding(e.from); k < e.c.rows.segments(); k++ {
		n += len(e.c.rows.segment(k).posts)
	}
	return n
}

// at is the relation of a path to the dotted path.
type at uint8

const (
	elsewhere at = iota
	here
	beneath
)

// locate returns the relation of every path to a dotted path, and whether any path is related. It takes
// one pass: the rest of the dotted path at a key is the rest at its parent minus the key.
func (e *evaluation) locate(dotted string) (places []at, any bool, err error) {
	paths := &e.c.paths
	places = make([]at, paths.len())
	used := make([]int, paths.len()) // bytes of dotted, or -1 off its way
	for k := range paths.blocks() {
		b := paths.block(k)
		if err := b.stored.ready(); err != nil {
			return nil, false, err
		}
		if err := e.tick(len(b.tags)); err != nil {
			return nil, false, err
		}
		for i, above := range b.tags {
			n := k*blockLen + i
			if n == rootPath {
				continue
			}
			used[n] = -1
			if places[above] != elsewhere {
				places[n] = beneath
				continue
			}
			if used[above] < 0 {
				continue
			}
			rest := dotted[used[above]:]
			if above != rootPath {
				rest = rest[1:] // the dot
			}
			key := b.at(i)
			if len(rest) < len(key) || rest[:len(key)] != string(key) {
				continue
			}
			switch rest = rest[len(key):]; {
			case rest == "":
				places[n], any = here, true
			case rest[0] == '.':
				used[n] = len(dotted) - len(rest)
			}
		}
	}
	return places, any, nil
}
