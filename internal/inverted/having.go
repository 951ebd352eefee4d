package inverted

import (
	"context"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Having appends the ids of the documents in which the words of terms are consecutive. A single word may also be a
// piece of another (Term.Beside); with several words, terms with Beside are ignored. If all are function words, the
// documents must have all terms. Without words it appends nothing. Errors: ErrCorrupt, that of ctx. Cost: the documents
// with the rarest word, some 0.3 µs each.
func (x *Words) Having(ctx context.Context, dst []uint64, terms []text.Term) (out []uint64, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	var words []uint32
	rarest := uint32(0)
	functions := text.Functions(terms)
	for _, t := range terms {
		if t.Beside && !functions {
			continue
		}
		n, ok := x.terms.find(t.Text)
		if !ok {
			return dst, nil
		}
		if len(words) == 0 || x.df(n) < x.df(rarest) {
			rarest = n
		}
		words = append(words, n)
	}
	if len(words) == 0 {
		return dst, nil
	}
	return x.documents(ctx, dst, rarest, func(slot uint32) (bool, error) {
		if len(words) == 1 {
			return true, nil
		}
		if functions {
			return x.all(slot, words)
		}
		return x.consecutive(slot, words)
	})
}

// HavingAny appends the ids of the documents with one of some terms, given by number; a document with several terms is
// listed several times. Errors: ErrCorrupt, that of ctx. Cost: the postings of the terms.
func (x *Words) HavingAny(ctx context.Context, dst []uint64, terms []int) (out []uint64, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	for _, n := range terms {
		if dst, err = x.documents(ctx, dst, uint32(n), func(uint32) (bool, error) { return true, nil }); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Prefixed returns the numbers of the terms that begin with prefix, those in most documents first. Errors:
// ErrCorrupt, that of ctx. Cost: a check of each term of the index, some 10 ns.
func (x *Words) Prefixed(ctx context.Context, prefix string) (terms []int, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	for n := range x.Terms() {
		if n%(64*every) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.HasPrefix(x.Term(n), prefix) && x.DF(n) > 0 {
			terms = append(terms, n)
		}
	}
	slices.SortStableFunc(terms, func(a, b int) int { return x.DF(b) - x.DF(a) })
	return terms, nil
}

// documents appends the ids of the live documents that contain a term and meet ok.
func (x *Words) documents(ctx context.Context, dst []uint64, term uint32, ok func(slot uint32) (bool, error)) ([]uint64, error) {
	looked := 0
	err := x.having(int(term), func(slot uint32) (bool, error) {
		if looked++; looked%every == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		met, err := ok(slot)
		if err != nil || !met {
			return true, err
		}
		id, err := x.id(slot)
		dst = append(dst, id)
		return true, err
	})
	if err == nil {
		err = ctx.Err()
	}
	return dst, err
}

// all reports whether a document contains all of the given terms.
func (c *core) all(slot uint32, terms []uint32) (bool, error) {
	has := map[uint32]bool{}
	w, err := c.walk(slot)
	if err != nil {
		return false, err
	}
	for w.left > 0 {
		has[w.next().term] = true
	}
	return !slices.ContainsFunc(terms, func(t uint32) bool { return !has[t] }), w.end()
}

// consecutive reports whether words are consecutive in the document at a slot.
func (c *core) consecutive(slot uint32, words []uint32) (bool, error) {
	w, err := c.walk(slot)
	if err != nil {
		return false, err
	}
	last := make([]uint32, 0, len(words)) // the words before, as many as the phrase has
	for w.left > 0 {
		e := w.next()
		if e.beside {
			continue
		}
		if len(last) == len(words) {
			copy(last, last[1:])
			last = last[:len(last)-1]
		}
		if last = append(last, e.term); slices.Equal(last, words) {
			return true, nil
		}
	}
	return false, w.end()
}
