package columns

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/value"
)

// Field reads the values at one path. It is for one goroutine.
type Field struct {
	c      *Columns
	places []at
}

// Field returns the reader of a path. Errors: that of ctx, ErrCorrupt. Cost: one pass over the distinct paths.
func (c *Columns) Field(ctx context.Context, path string) (f *Field, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	e := evaluation{c: c, ticker: ticker{ctx: ctx}}
	places, _, err := e.locate(path)
	return &Field{c, places}, err
}

// Values calls do with the distinct values of a document, in no order; there are none if the document does
// not exist. Errors: ErrCorrupt. Cost: O(log n), and a step for each of its terms.
func (f *Field) Values(ord uint64, do func(k value.Kind, text []byte)) (err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	slot, ok := f.c.rows.find(ord)
	if !ok || f.c.dead.Has(uint64(slot)) {
		return nil
	}
	s := f.c.rows.segment(f.c.rows.holding(slot))
	if err := s.stored.ready(); err != nil {
		return err
	}
	return f.values(s.of(slot-s.first), do)
}

func (f *Field) values(terms []uint32, do func(k value.Kind, text []byte)) error {
	for _, term := range terms {
		tag, text, err := f.c.terms.at(term)
		if err != nil {
			return err
		}
		if f.places[pathOf(tag)] == here {
			do(kindOf(tag), text)
		}
	}
	return nil
}

// Ranked is a document and a number.
type Ranked struct {
	Ord uint64
	X   float64
}

// Ranking returns the documents with a number of a boost (filter.Boost.Number), the greatest first. Some may have been
// deleted. Errors: that of ctx, ErrCorrupt. Cost: one pass over all values, at later calls over the new ones; 16 bytes
// of memory a document for each of the four most recently used fields.
func (c *Columns) Ranking(ctx context.Context, b filter.Boost) (_ []Ranked, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	key := b.Key()
	old := c.line.rankings.get(key, c.state())
	if old.at == c.state() && old.key != "" {
		return old.all, nil
	}
	if len(old.all) > 2*c.Len() {
		old = ranking{}
	}
	f, err := c.Field(ctx, b.Path())
	if err != nil {
		return nil, err
	}
	var fresh []Ranked
	if err := c.each(ctx, old.at.rows, func(ord uint64, terms []uint32) error {
		one, any := Ranked{Ord: ord}, false
		err := f.values(terms, func(k value.Kind, text []byte) {
			if x, ok := b.Number(k, text); ok && (!any || x > one.X) {
				one.X, any = x, true
			}
		})
		if any {
			fresh = append(fresh, one)
		}
		return err
	}); err != nil {
		return nil, err
	}
	byNumber := func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.X, a.X), cmp.Compare(a.Ord, b.Ord)) }
	slices.SortFunc(fresh, byNumber)
	all := make([]Ranked, 0, len(old.all)+len(fresh))
	for _, one := range old.all {
		for len(fresh) > 0 && byNumber(fresh[0], one) < 0 {
			all, fresh = append(all, fresh[0]), fresh[1:]
		}
		all = append(all, one)
	}
	all = append(all, fresh...)
	c.line.rankings.put(ranking{key, c.state(), all})
	return all, ctx.Err()
}

// ranking is an answer of Ranking.
type ranking struct {
	key string
	at  state
	all []Ranked
}

// rankings keeps the most recently used answers of one lineage.
type rankings struct {
	mu   sync.Mutex
	kept []ranking // the one used last is the last
}

const keptRankings = 4

// get returns the answer at a state or an earlier one; zero if there is none.
func (r *rankings) get(key string, at state) ranking {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.kept {
		if one.key == key && one.at.before(at) {
			return one
		}
	}
	return ranking{}
}

// put keeps an answer unless there is a later one.
func (r *rankings) put(one ranking) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.kept, func(old ranking) bool { return old.key == one.key }); i >= 0 {
		if one.at.before(r.kept[i].at) {
			return
		}
		r.kept = slices.Delete(r.kept, i, i+1)
	}
	if r.kept = append(r.kept, one); len(r.kept) > keptRankings {
		r.kept = slices.Delete(r.kept, 0, 1)
	}
}

func (r *rankings) size() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.kept {
		n += int64(16 * cap(one.all))
	}
	return n
}
