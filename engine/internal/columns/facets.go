package columns

import (
	"cmp"
	"context"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Facets returns the k most frequent values at a path among the documents that met a filter, all for nil; the most
// frequent first, and equally frequent ones by filter.Kind.Key. An element of an array counts as a value. Errors: that
// of ctx, ErrCorrupt. Cost: one pass over all values; memory for the distinct ones at the path.
func (c *Columns) Facets(ctx context.Context, m *Matches, path string, k int) (_ []filter.Facet, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	e := evaluation{c: c, to: c.rows.len(), ticker: ticker{ctx: ctx}}
	places, any, err := e.locate(path)
	if err != nil || !any {
		return []filter.Facet{}, err
	}
	type value struct {
		filter.Facet
		key  string
		last uint64 // document that it was counted for, and 1
	}
	var values []value
	keys := map[string]int{}  // places in values
	terms := map[uint32]int{} // likewise
	of := func(term uint32) (int, error) {
		if at, ok := terms[term]; ok {
			return at, nil
		}
		tag, text, err := c.terms.at(term)
		if err != nil {
			return 0, err
		}
		at := -1
		if places[pathOf(tag)] == here {
			if v, ok := kindOf(tag).Value(text); ok {
				key := kindOf(tag).Key(text)
				if at, ok = keys[key]; !ok {
					at = len(values)
					keys[key] = at
					values = append(values, value{Facet: filter.Facet{Value: v}, key: key})
				}
				terms[term] = at
			}
		}
		return at, nil
	}
	err = c.each(ctx, 0, func(ord uint64, list []uint32) error {
		if m != nil && !m.Allow(ord) {
			return nil
		}
		for _, term := range list {
			at, err := of(term)
			if err != nil {
				return err
			}
			if at >= 0 && values[at].last != ord+1 {
				values[at].last = ord + 1
				values[at].Count++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.key, b.key)) })
	facets := make([]filter.Facet, min(k, len(values)))
	for i := range facets {
		facets[i] = values[i].Facet
	}
	return facets, nil
}

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

// Values calls do with the values of a document, none if it is not there: distinct ones, in no order. Errors:
// ErrCorrupt. Cost: O(log n), and a step for each of its terms.
func (f *Field) Values(ord uint64, do func(k filter.Kind, text []byte)) (err error) {
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

// All calls do with the values of all documents, in their order. Errors: that of ctx, ErrCorrupt. Cost: one pass over
// all values.
func (f *Field) All(ctx context.Context, do func(ord uint64, k filter.Kind, text []byte)) (err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	return f.c.each(ctx, 0, func(ord uint64, terms []uint32) error {
		return f.values(terms, func(k filter.Kind, text []byte) { do(ord, k, text) })
	})
}

func (f *Field) values(terms []uint32, do func(k filter.Kind, text []byte)) error {
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
