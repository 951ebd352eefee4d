package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

// The metadata of documents change the order of hits in three ways: boosts multiply scores, a sort orders the hits,
// and groups limit how many hits have the same value. A boost is also a retriever: it adds the documents with the
// highest boosts to the candidates, so that words and vectors need not find them.

// maxGrouped is the maximum number of candidates of a leg for the groups of a query.
const maxGrouped = 64 * minDepth

// fields holds the uses of metadata in a query.
type fields struct {
	boosts   []filter.Boost
	sort     *filter.Sort
	group    string // path, "" for no groups
	perGroup int

	// values reads the values at a path of candidates' documents: of(ord) calls do with each.
	values func(ctx context.Context, path string, cs []fusion.Candidate) (of valuesOf, err error)
}

type valuesOf = func(ord uint64, do func(k value.Kind, text []byte)) error

// readFields reads the expressions of a query.
func readFields(q Query) (f fields, err error) {
	if q.Boost != "" {
		if f.boosts, err = filter.ParseBoosts(q.Boost); err != nil {
			return f, err
		}
	}
	if q.Sort != "" {
		s, err := filter.ParseSort(q.Sort)
		if err != nil {
			return f, err
		}
		f.sort = &s
	}
	if q.PerGroup < 0 || q.PerGroup > MaxK {
		return f, fmt.Errorf("%w: %d hits a group; use 1 to %d, or 0 for 1", fault.ErrInvalid, q.PerGroup, MaxK)
	}
	if q.PerGroup > 0 && q.GroupBy == "" {
		return f, fmt.Errorf("%w: %d hits a group, and no field to group by; name one", fault.ErrInvalid, q.PerGroup)
	}
	f.perGroup = max(1, q.PerGroup)
	if f.group, err = filter.PathOf(q.GroupBy); err != nil {
		return f, fmt.Errorf("group by %s: %w", q.GroupBy, err)
	}
	return f, nil
}

// inColumns reads values from the columns of the run's state.
func (r *Run) inColumns(ctx context.Context, path string, _ []fusion.Candidate) (valuesOf, error) {
	f, err := r.S.Columns.Field(ctx, path)
	if err != nil {
		return nil, err
	}
	return f.Values, nil
}

// pool returns how many hits are sorted: all if the query itself determines which documents match, else the hits
// that pages can reach.
func (r *Run) pool() int {
	if r.Q.MinScore != 0 || !r.Plan.Dense {
		return MaxK
	}
	if r.Q.Offset > 0 {
		return PageEnd
	}
	return max(PageEnd, r.Plan.K)
}

// sorted orders hits by the query's sort field; equal hits keep their order.
func (r *Run) sorted(ctx context.Context, hits []Found) error {
	s := r.fields.sort
	cs := make([]fusion.Candidate, len(hits))
	for i, h := range hits {
		cs[i] = h.Candidate
	}
	of, err := r.fields.values(ctx, s.Path, cs)
	if err != nil {
		return err
	}
	type keyed struct {
		Found
		key string
	}
	all := make([]keyed, len(hits))
	for i, h := range hits {
		if i%scored == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		all[i].Found = h
		if all[i].key, err = firstOf(of, h.Ord, *s); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return s.Compare(a.key, b.key) })
	for i, one := range all {
		hits[i] = one.Found
	}
	r.step("sort")
	return nil
}

// firstOf is the first value, in the order of s, of a candidate's document; "" if it has none.
func firstOf(of valuesOf, id uint64, s filter.Sort) (first string, err error) {
	err = of(chunk.Ord(id), func(k value.Kind, text []byte) {
		if k == value.Empty {
			return
		}
		if key := k.Order(text); s.Compare(key, first) < 0 {
			first = key
		}
	})
	return first, err
}

// groups counts the hits of each value of a field. A document with several values counts for the lowest one.
type groups struct {
	of   valuesOf
	most int
	n    map[string]int
}

func (r *Run) groups(ctx context.Context, cs []fusion.Candidate) (*groups, error) {
	if r.fields.group == "" {
		return nil, nil
	}
	of, err := r.fields.values(ctx, r.fields.group, cs)
	return &groups{of, r.fields.perGroup, map[string]int{}}, err
}

// full reports whether the group of a candidate is complete; if not, it counts the candidate.
func (g *groups) full(c fusion.Candidate) (bool, error) {
	if g == nil {
		return false, nil
	}
	key, err := firstOf(g.of, c.Ord, filter.Sort{})
	if err != nil || g.n[key] == g.most {
		return true, err
	}
	g.n[key]++
	return false, nil
}
