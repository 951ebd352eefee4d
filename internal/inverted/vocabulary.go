package inverted

import (
	"context"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// Numbering identifies the numbers of terms in an index: while it is the same, a term keeps its number, and
// new terms get higher numbers.
type Numbering struct{ line *line }

// Numbering returns the numbering of this value's terms.
func (x *Words) Numbering() Numbering { return Numbering{x.line} }

// Terms is the number of terms, including those that no document has any more.
func (x *Words) Terms() int { return x.terms.len() }

// Term is the text of a term by its number, from 0.
func (x *Words) Term(n int) string { return x.terms.name(uint32(n)) }

// DF is the number of documents with a term, given by its number.
func (x *Words) DF(n int) int { return int(x.df(uint32(n))) }

// Find returns the number of a term. ok is false if no document has it.
func (x *Words) Find(term string) (n int, ok bool) {
	at, ok := x.terms.find(term)
	return int(at), ok && x.df(at) > 0
}

// Some returns the ids of up to most documents with a term, given by its number: those that were added first.
// Error: ErrCorrupt.
func (x *Words) Some(n, most int) (ids []uint64, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	err = x.having(n, func(slot uint32) (bool, error) {
		id, err := x.id(slot)
		ids = append(ids, id)
		return len(ids) < most, err
	})
	return ids, err
}

// having calls next with the slot of each document that contains a term, until next returns false.
func (x *Words) having(n int, next func(slot uint32) (bool, error)) error {
	v, err := x.view(uint32(n))
	if err != nil {
		return err
	}
	var p postings
	for i := range v.all() {
		if err := v.decode(&p, i); err != nil {
			return err
		}
		for _, slot := range p.slots[:p.n] {
			if has(x.dead, slot) {
				continue
			}
			if ok, err := next(slot); err != nil || !ok {
				return err
			}
		}
	}
	return nil
}

// Together looks for a document with both of two terms, given by number, among most documents with the rarer one.
// all reports that no other documents have the rarer one. Errors: ErrCorrupt, that of ctx. Cost: a walk over the
// terms of these documents.
func (x *Words) Together(ctx context.Context, a, b, most int) (found, all bool, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	if x.DF(a) > x.DF(b) {
		a, b = b, a
	}
	looked := 0
	err = x.having(a, func(slot uint32) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		w, err := x.walk(slot)
		if err != nil {
			return false, err
		}
		for w.left > 0 {
			if w.next().term == uint32(b) {
				found = true
				return false, nil
			}
		}
		looked++
		return looked < most, w.end()
	})
	return found, x.DF(a) <= most, err
}
