package inverted

import (
	"context"
	"math/rand/v2"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Verify recomputes postings, blocks, counts and tables from the forward lists and compares. It
// checks only those parts of a snapshot that it reads. Errors: ErrCorrupt, and that of ctx within
// some milliseconds. Cost: one read of the index, and 12 bytes a term.
func (x *Words) Verify(ctx context.Context) (err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	if err := x.terms.verify(ctx); err != nil {
		return err
	}
	count, err := x.recount(ctx)
	if err != nil {
		return err
	}
	for t := range uint32(x.terms.len()) {
		if t%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.verifyList(t, count); err != nil {
			return err
		}
	}
	return nil
}

// verify looks up each term by its text.
func (d *dictionary) verify(ctx context.Context) error {
	for n := range uint32(d.len()) {
		if n%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		name := d.name(n)
		if found, ok := d.find(name); !ok || found != n || name == "" {
			return corrupt("term %d, %q, is found as %d", n, name, found)
		}
	}
	return nil
}

// recounted holds the statistics of terms, recomputed from the forward lists.
type recounted struct {
	key   uint64   // of this count, so that no file can be made to fit
	df    []uint32 // live documents
	marks []uint64 // sum over the postings of a hash of slot and count
}

func (r *recounted) mark(slot, count uint32) uint64 {
	return fold(r.key^(uint64(slot)<<32|uint64(count)), 0x9E3779B97F4A7C15)
}

// recount walks over all slots, including those of removed documents.
func (x *Words) recount(ctx context.Context) (*recounted, error) {
	n := x.terms.len()
	r := &recounted{rand.Uint64(), make([]uint32, n), make([]uint64, n)}
	total, live := uint64(0), 0
	var entries []entry
	var e edit // for its scratch
	for slot := range x.len() {
		if slot%every == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		id, err := x.id(slot)
		if err != nil {
			return nil, err
		}
		length, err := x.length(slot)
		if err != nil {
			return nil, err
		}
		if entries, err = x.entries(entries[:0], slot); err != nil {
			return nil, err
		}
		counted := uint32(0)
		for _, e := range entries {
			if int(e.term) >= n || !text.Function(x.terms.name(e.term)) {
				counted++
			}
		}
		if length != counted {
			return nil, corrupt("document %d has %d terms, not %d", id, counted, length)
		}
		alive := !has(x.dead, slot)
		if alive {
			if found, ok, err := x.slot(id); err != nil || !ok || found != slot {
				return nil, corrupt("document %d is in slot %d, found %t in %d: %v", id, slot, ok, found, err)
			}
			live++
			total += uint64(length)
		}
		d := e.sorted(entries)
		for i := 0; i < len(d); {
			k := 1
			for i+k < len(d) && d[i+k] == d[i] {
				k++
			}
			if int(d[i]) >= n {
				return nil, corrupt("document %d has term %d of %d", id, d[i], n)
			}
			r.marks[d[i]] += r.mark(slot, uint32(k))
			if alive {
				r.df[d[i]]++
			}
			i += k
		}
	}
	if live != x.live || total != x.total {
		return nil, corrupt("%d documents of %d terms, not %d of %d", live, total, x.live, x.total)
	}
	return r, nil
}

// verifyList compares the postings of a term with recounted ones.
func (x *Words) verifyList(term uint32, count *recounted) error {
	v, err := x.view(term)
	if err != nil {
		return err
	}
	var p postings
	marks := uint64(0)
	for i := range v.all() {
		if err := v.decode(&p, i); err != nil {
			return err
		}
		for j := range p.n {
			marks += count.mark(p.slots[j], p.values[j])
		}
		b, err := x.bound(&p)
		if err != nil {
			return err
		}
		if i == v.full() {
			continue
		}
		if b.end = v.block(i).end; b != *v.block(i) {
			return corrupt("block %d of term %d is %v, should be %v", i, term, *v.block(i), b)
		}
	}
	if v.df != count.df[term] || marks != count.marks[term] {
		return corrupt("postings of term %d, which %d documents have, do not fit the documents, of which %d do", term, v.df, count.df[term])
	}
	return nil
}
