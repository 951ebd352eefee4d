package inverted

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Scores writes the BM25 of each document into dst, the same number that
// Search gives; 0 for one without a word of the query, NaN for an absent one.
// Errors: ErrLength, ErrCorrupt, and that of ctx. Cost O(terms of the
// documents).
func (x *Words) Scores(ctx context.Context, dst []float64, terms []text.Term, ids []uint64) (err error) {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d scores for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	return s.q.scores(ctx, dst, x.core, ids)
}

// scores writes the score of each document into dst, NaN for absent ones.
func (q *query) scores(ctx context.Context, dst []float64, c *core, ids []uint64) error {
	for i, id := range ids {
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		dst[i] = math.NaN()
		slot, ok, err := c.slot(id)
		if ok {
			dst[i], err = q.score(c, slot)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Has says whether a document is there. It fails with ErrCorrupt.
func (c *core) Has(id uint64) (ok bool, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	_, ok, err = c.slot(id)
	return ok, err
}

// Tests save terms in both forms: tests of damage have more terms than this.
func init() { shortTerms = 8 }
