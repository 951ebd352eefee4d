package search

import (
	"context"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
)

// mostAround is the number of the best candidates that are looked at together with their neighbours.
const mostAround = 100

// around counts words of the chunks before and after the best candidates to their term recall, since a long document
// may say each word of a query in another chunk. The chunk that has most of the query gets them, so that chunks of one
// document keep their order. cs are sorted; they are sorted anew.
func (r *Run) around(ctx context.Context, cs []fusion.Candidate) error {
	var of []inverted.Neighbours
	var at []int
	for i, c := range cs[:min(mostAround, len(cs))] {
		if c.Presence > 0 && c.Presence < 1 {
			ord, n := chunk.Ord(c.Ord), chunk.Number(c.Ord)
			of, at = append(of, inverted.Neighbours{c.Ord, chunk.ID(ord, n+1), chunk.ID(ord, max(n, 1)-1)}), append(at, i)
		}
	}
	if len(of) == 0 || r.Plan.Fusion.Kind != "" && r.Plan.Fusion.Kind != fusion.Calibrated {
		return nil
	}
	recalls := make([]float64, len(of))
	if err := r.lexicon.Around(ctx, recalls, r.Terms, of); err != nil {
		return err
	}
	for j, i := range at {
		cs[i].Around = recalls[j]
	}
	return r.Plan.Fusion.Fuse(cs)
}
