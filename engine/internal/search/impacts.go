package search

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/inverted"
)

// The third retriever of a hybrid search, in a database whose model gives impacts of words (encoder.WithSparse): passages
// by the inner product of their impacts with the query's. Its candidates join those of the other two, and each candidate
// gets its score as a share of what the query has with itself.

// weigh prepares the impacts of the query. Without some, and in other fusions than the calibrated one, the retriever is left out.
func (r *Run) weigh() {
	f := &r.Plan.Fusion
	if !r.Plan.Dense || !r.Plan.Lexical || f.Kind != fusion.Calibrated || r.S.Impacts.Len() == 0 {
		return
	}
	if r.impacts = r.S.Impacts.ImpactQuery(weighted(r.In.Impacts)); len(r.impacts) > 0 {
		*f = f.WithSparse()
	}
}

// StoredImpacts is the stored form of a passage's impacts.
func StoredImpacts(is []encoder.Impact) []byte { return inverted.AppendImpacts(nil, weighted(is)) }

func weighted(is []encoder.Impact) []inverted.Weighted {
	ws := make([]inverted.Weighted, len(is))
	for i, x := range is {
		ws[i] = inverted.Weighted(x)
	}
	return ws
}

// byImpacts returns the candidates of the retriever that are not known, with their word matches.
func (r *Run) byImpacts(ctx context.Context, depth int, known map[uint64]struct{}) (cs []fusion.Candidate, err error) {
	if len(r.impacts) == 0 {
		return nil, nil
	}
	best, err := r.S.Impacts.Search(ctx, nil, r.impacts, depth, r.filter.allow)
	if err != nil {
		return nil, err
	}
	for _, b := range best {
		if !has(known, b.ID) {
			cs = append(cs, fusion.Candidate{Ord: b.ID})
		}
	}
	r.step("sparse")
	return cs, r.match(ctx, cs)
}

// matchImpacts gives candidates the score of their impacts.
func (r *Run) matchImpacts(ctx context.Context, cs []fusion.Candidate) error {
	if len(r.impacts) == 0 {
		return nil
	}
	ids, scores := make([]uint64, len(cs)), make([]float64, len(cs))
	for i, c := range cs {
		ids[i] = c.Ord
	}
	err := r.S.Impacts.ScoresOf(ctx, scores, r.impacts, ids)
	for i, s := range scores {
		cs[i].Sparse = s
	}
	return err
}
