package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/value"
)

// boosted returns the boosts of the candidates' documents: one number for each boost.
func (r *Run) boosted(ctx context.Context, cs []fusion.Candidate) (map[uint64][]float64, error) {
	given := map[uint64][]float64{}
	for _, c := range cs {
		given[chunk.Ord(c.Ord)] = make([]float64, len(r.fields.boosts))
	}
	for n, b := range r.fields.boosts {
		of, err := r.fields.values(ctx, b.Path(), cs)
		if err != nil {
			return nil, err
		}
		for ord, x := range given {
			if err := cmp.Or(ctx.Err(), of(ord, func(k value.Kind, text []byte) { x[n] = max(x[n], b.Of(k, text)) })); err != nil {
				return nil, err
			}
		}
	}
	return given, nil
}

// boost changes the scores of ranked candidates by the boosts, and ranks them again.
func (r *Run) boost(ctx context.Context, cs []fusion.Candidate) error {
	if len(r.fields.boosts) == 0 || len(cs) == 0 {
		return nil
	}
	given, err := r.boosted(ctx, cs)
	if err != nil {
		return err
	}
	r.gains = given
	for i := range cs {
		if x := 1 + r.gain(cs[i].Ord); cs[i].Score >= 0 {
			cs[i].Score *= x
		} else {
			cs[i].Score /= x
		}
	}
	fusion.Sort(cs, func(c fusion.Candidate) float64 { return c.Score })
	r.step("boost")
	return nil
}

// gain is the sum that the boosts of a candidate add to 1.
func (r *Run) gain(id uint64) (sum float64) {
	for n, x := range r.gains[chunk.Ord(id)] {
		sum += r.fields.boosts[n].Weight * x
	}
	return sum
}

// Summands returns the summands of a candidate's score.
func (r *Run) Summands(c fusion.Candidate) []fusion.Term {
	terms := append(r.Plan.Terms(c), r.fileTerms(c)...)
	lift := r.lifts[c.Ord]
	c.Score -= lift
	terms = append(terms, r.gained(c, len(terms) == 0)...)
	if lift == 0 {
		return terms
	}
	if len(terms) == 0 {
		terms = append(terms, fusion.Term{Name: r.Plan.Fusion.Kind, Weight: 1, Value: c.Score})
	}
	return append(terms, fusion.Term{Name: "exact", Weight: lift, Value: 1})
}

// gained are the summands that the boosts give to a candidate; bare says that there are no others: then what they have
// multiplied is one of them.
func (r *Run) gained(c fusion.Candidate, bare bool) (terms []fusion.Term) {
	sum := r.gain(c.Ord)
	if sum == 0 {
		return nil
	}
	before := c.Score / (1 + sum)
	if c.Score < 0 {
		before = c.Score * (1 + sum)
	}
	if bare { // of a fusion by ranks
		terms = append(terms, fusion.Term{Name: r.Plan.Fusion.Kind, Weight: 1, Value: before})
	}
	for n, x := range r.gains[chunk.Ord(c.Ord)] {
		if x > 0 {
			terms = append(terms, fusion.Term{Name: r.fields.boosts[n].Name, Weight: (c.Score - before) * r.fields.boosts[n].Weight / sum, Value: x})
		}
	}
	return terms
}

// favourites returns the documents with the highest boosts among those that may be found, highest first. Each boost has
// its own ranking. The search stops when no later document in the rankings can exceed the ones already found (the
// threshold algorithm of Fagin, Lotem and Naor).
func (r *Run) favourites(ctx context.Context) ([]uint64, error) {
	type leg struct {
		filter.Boost
		all []columns.Ranked
		of  *columns.Field
	}
	var legs []leg
	for _, b := range r.fields.boosts {
		if b.Weight <= 0 {
			continue
		}
		all, err := r.S.Columns.Ranking(ctx, b)
		if err != nil {
			return nil, err
		}
		of, err := r.S.Columns.Field(ctx, b.Path())
		if err != nil {
			return nil, err
		}
		legs = append(legs, leg{b, all, of})
	}
	type favourite struct {
		ord uint64
		sum float64
	}
	var best []favourite // most favoured first, at most minDepth
	seen := map[uint64]struct{}{}
	for at, more := 0, true; more; at++ {
		if at%scored == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		more = false
		threshold := 0.0
		for _, l := range legs {
			if at >= len(l.all) {
				continue
			}
			more = true
			ord := l.all[at].Ord
			threshold += l.Weight * l.At(l.all[at].X)
			if has(seen, ord) || !r.S.Live.Has(ord) || !r.Allows(chunk.ID(ord, 0)) {
				continue
			}
			one := favourite{ord: ord}
			for _, o := range legs {
				most := 0.0
				if err := o.of.Values(ord, func(k value.Kind, text []byte) { most = max(most, o.Of(k, text)) }); err != nil {
					return nil, err
				}
				one.sum += o.Weight * most
			}
			if one.sum == 0 {
				continue
			}
			seen[ord] = struct{}{}
			place, _ := slices.BinarySearchFunc(best, one, func(a, b favourite) int { return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.ord, b.ord)) })
			if best = slices.Insert(best, place, one); len(best) > minDepth {
				best = best[:minDepth]
			}
		}
		if len(best) == minDepth && best[minDepth-1].sum >= threshold {
			break
		}
	}
	ords := make([]uint64, len(best))
	for i, one := range best {
		ords[i] = one.ord
	}
	return ords, nil
}

// favoured returns the chunks of the favourites, without those that are already candidates.
func (r *Run) favoured(ctx context.Context, known []fusion.Candidate) (cs []fusion.Candidate, err error) {
	if !r.Plan.Boosted || r.S == nil {
		return nil, nil
	}
	if r.favours == nil {
		if r.favours, err = r.favourites(ctx); err != nil {
			return nil, err
		}
	}
	named := make(map[uint64]struct{}, len(known))
	for _, c := range known {
		named[c.Ord] = struct{}{}
	}
	for _, ord := range r.favours {
		for n := 0; n == 0 || len(cs) < 4*minDepth && r.S.Vectors.Has(chunk.ID(ord, n)); n++ {
			if id := chunk.ID(ord, n); !has(named, id) {
				cs = append(cs, fusion.Candidate{Ord: id})
			}
		}
	}
	return cs, nil
}

func has(set map[uint64]struct{}, id uint64) bool { _, ok := set[id]; return ok }
