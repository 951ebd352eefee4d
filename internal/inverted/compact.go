package inverted

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// compactAfter is the minimum number of removed documents for a compaction. In larger indexes a
// third of all documents must be removed, so that the cost is a constant share of removing.
const compactAfter = 4096

// Dead is the number of removed documents that still take memory.
func (x *Words) Dead() int { return int(x.len()) - x.live }

// Wasteful reports whether enough documents were removed for Compacted.
func (x *Words) Wasteful() bool {
	dead := x.Dead()
	return dead >= compactAfter && 2*dead >= x.live
}

// Compacted returns an equal value in memory, without removed documents and without terms that
// only they had. Frequent terms get short numbers. Errors: ErrCorrupt, and that of ctx within some
// milliseconds. Cost: that of adding the documents without analysing them.
func (x *Words) Compacted(ctx context.Context) (out *Words, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	fresh := &Words{core: newCore(x.form), o: x.o, terms: newDictionary(x.terms.seed)}
	number := make([]uint32, x.terms.len())
	for n, t := range x.order() {
		number[t] = uint32(n)
		if name := x.terms.name(t); name == "" || fresh.terms.intern(name, hashText(fresh.terms.seed, name)) != uint32(n) {
			return nil, corrupt("term %d, %q, is empty or there twice", t, name)
		}
	}
	e := fresh.edit()
	var entries []entry
	for slot := range x.len() {
		if slot%every == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if has(x.dead, slot) {
			continue
		}
		id, err := x.id(slot)
		if err != nil {
			return nil, err
		}
		if entries, err = x.entries(entries[:0], slot); err != nil {
			return nil, err
		}
		for i, n := range entries {
			if uint64(n.term) >= uint64(len(number)) || x.df(n.term) == 0 {
				return nil, corrupt("term %d of document %d is in no document", n.term, id)
			}
			entries[i].term = number[n.term]
		}
		length, err := x.length(slot)
		if err != nil {
			return nil, err
		}
		if err := e.put(id, entries, length); err != nil {
			return nil, err
		}
	}
	fresh.core = e.done()
	if fresh.live != x.live {
		return nil, corrupt("%d documents have %d ids", x.live, fresh.live)
	}
	return fresh, nil
}

// order returns the terms of live documents: those in most documents first, ties by number.
func (x *Words) order() []uint32 {
	var order, dfs []uint32
	for t := range uint32(x.terms.len()) {
		df := x.df(t)
		if dfs = append(dfs, df); df > 0 {
			order = append(order, t)
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(dfs[b], dfs[a]), cmp.Compare(a, b)) })
	return order
}

// Rebase applies the edits that led from base to x to fresh, and returns the result. fresh equals
// base, as the result of Compacted or read from a snapshot. The three do not change, but values
// made from fresh by earlier edits must not be used any more. Errors: ErrBase, ErrCorrupt. Cost:
// that of the edits since base, and a check of each 64 slots of it.
func (x *Words) Rebase(base, fresh *Words) (out *Words, err error) {
	if x.line != base.line || x.len() < base.len() {
		return nil, fmt.Errorf("%d documents on %d: %w", x.live, base.live, ErrBase)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	e := fresh.Edit()
	for w := range int(base.len()+63) / 64 {
		removed := x.dead.At(w) &^ base.dead.At(w)
		for ; removed != 0; removed &= removed - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(removed))
			if slot >= base.len() {
				break
			}
			id, err := base.id(slot)
			if err != nil {
				return nil, err
			}
			if _, err := e.Remove([]uint64{id}); err != nil {
				return nil, err
			}
		}
	}
	var entries []entry
	var terms []text.Term
	for slot := base.len(); slot < x.len(); slot++ {
		if has(x.dead, slot) {
			continue
		}
		if entries, err = x.entries(entries[:0], slot); err != nil {
			return nil, err
		}
		terms = terms[:0]
		for _, n := range entries {
			terms = append(terms, text.Term{Text: x.terms.name(n.term), Beside: n.beside, Title: n.title})
		}
		id, err := x.id(slot)
		if err != nil {
			return nil, err
		}
		if err := e.Add(id, terms); err != nil {
			return nil, err
		}
	}
	return e.Done(), nil
}
