package columns

import (
	"cmp"
	"context"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Facets returns the k most frequent values at a path among the documents of m (nil means all), the most frequent
// first, and equally frequent ones by value.Kind.Key. An element of an array counts as a value. Errors: that of ctx,
// ErrCorrupt. Cost: one pass over all values; memory for the distinct ones at the path.
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
