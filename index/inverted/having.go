package inverted

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Having appends the ids of the documents in which the words of terms stand one after the other. One word may also
// be a piece of another (Term.Beside); of several, terms with Beside are left out. Without words it appends nothing.
// Errors: ErrCorrupt, that of ctx. Cost: the documents that have the rarest word, some 0.3 µs each.
func (x *Words) Having(ctx context.Context, dst []uint64, terms []text.Term) (out []uint64, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	var words []uint32
	rarest := uint32(0)
	for _, t := range terms {
		if t.Beside {
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
		return x.consecutive(slot, words)
	})
}

// HavingPrefix appends the ids of the documents with a term that begins with prefix; some documents may be named
// several times. Errors: ErrCorrupt, that of ctx. Cost: that of Prefixed, and the postings of its terms.
func (x *Words) HavingPrefix(ctx context.Context, dst []uint64, prefix string) (out []uint64, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	err = x.prefixed(ctx, prefix, func(term uint32) error {
		dst, err = x.documents(ctx, dst, term, func(uint32) (bool, error) { return true, nil })
		return err
	})
	return dst, err
}

// Prefixed returns at most k of the terms that begin with prefix, those of the most documents. Errors: ErrCorrupt,
// that of ctx. Cost: a look at each term of the index, some 10 ns.
func (x *Words) Prefixed(ctx context.Context, prefix string, k int) (terms []string, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	var best []Scored // by documents
	err = x.prefixed(ctx, prefix, func(term uint32) error {
		if df := x.df(term); df > 0 {
			best = insertBest(best, Scored{ID: uint64(term), Score: float64(df)}, k)
		}
		return nil
	})
	for _, b := range best {
		terms = append(terms, x.terms.name(uint32(b.ID)))
	}
	return terms, err
}

// insertBest keeps the k best, best first.
func insertBest(best []Scored, s Scored, k int) []Scored {
	at := len(best)
	for at > 0 && better(s, best[at-1]) {
		at--
	}
	if at == k {
		return best
	}
	best = append(best, s)
	copy(best[at+1:], best[at:])
	best[at] = s
	return best[:min(len(best), k)]
}

// prefixed calls fn with each term that begins with prefix.
func (x *Words) prefixed(ctx context.Context, prefix string, fn func(term uint32) error) error {
	for n := range uint32(x.terms.len()) {
		if n%(64*every) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if strings.HasPrefix(x.terms.name(n), prefix) {
			if err := fn(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// documents appends the ids of the live documents with a term that meet ok.
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
	return dst, errors.Join(err, ctx.Err())
}

// consecutive says whether words stand one after the other in the document at a slot.
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
