package inverted

import (
	"cmp"
	"slices"
)

// compactAfter is the least number of dead documents that a compaction is
// made for. Beyond it, one is made when a third of all documents is dead, so
// that it costs a constant share of deleting.
const compactAfter = 4096

// wasteful says that a core has enough dead documents for a compaction.
func (c *core) wasteful() bool {
	dead := len(c.ids) - c.live
	return dead >= compactAfter && 2*dead >= c.live
}

// compact makes the index anew without its dead documents if there are many.
// Searches go on meanwhile. The caller holds write.
func (x *Words) compact() {
	if !x.c.wasteful() {
		return
	}
	order := x.c.order(x.names)
	number, names, terms := make([]uint32, len(x.names)), make([]string, len(order)), make(map[string]uint32, len(order))
	for n, t := range order {
		number[t], names[n], terms[x.names[t]] = uint32(n), x.names[t], uint32(n)
	}
	fresh := x.c.rebuilt(len(order), func(t uint32) uint32 { return number[t] })
	x.mu.Lock()
	x.c, x.names, x.terms = fresh, names, terms
	x.mu.Unlock()
}

// compact makes the index anew without its dead documents if there are many.
// Searches go on meanwhile. The caller holds write.
func (x *Sparse) compact() {
	if !x.c.wasteful() {
		return
	}
	fresh := x.c.rebuilt(len(x.c.lists), func(t uint32) uint32 { return t })
	x.mu.Lock()
	x.c = fresh
	x.mu.Unlock()
}

// order numbers the terms that live documents have: those of most documents
// first, so that their numbers are short; ties by text. The result says for
// each new number the old one.
func (c *core) order(names []string) []uint32 {
	var order []uint32
	for t := range c.lists {
		if c.lists[t].df > 0 {
			order = append(order, uint32(t))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int {
		if n := cmp.Compare(c.lists[b].df, c.lists[a].df); n != 0 {
			return n
		}
		return cmp.Compare(names[a], names[b])
	})
	return order
}

// rebuilt returns an equal core without dead documents, in the order of ids,
// whose terms are numbered anew below vocab.
func (c *core) rebuilt(vocab int, number func(term uint32) uint32) *core {
	fresh := &core{weights: c.weights, lists: make([]list, vocab)}
	var entries []entry
	for _, slot := range c.liveSlots() {
		entries = c.entries(entries[:0], slot)
		for i := range entries {
			entries[i].term = number(entries[i].term)
		}
		fresh.add(c.ids[slot], entries)
	}
	return fresh
}
