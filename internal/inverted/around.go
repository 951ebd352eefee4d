package inverted

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Neighbours are a document and the ones before and after it, which may be absent.
type Neighbours [3]uint64

// Around writes into dst the term recall (Match.Presence) of each document taken together with its neighbours. If a
// neighbour has more of the query than the document, it is that of the document alone. Errors: ErrLength, ErrCorrupt,
// that of ctx. Cost O(terms of the documents).
func (x *Words) Around(ctx context.Context, dst []float64, terms []text.Term, of []Neighbours) (err error) {
	if len(dst) != len(of) {
		return fmt.Errorf("%d recalls for %d documents: %w", len(dst), len(of), ErrLength)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	return s.q.together(ctx, dst, of, func(id uint64) error {
		clear(s.q.counts)
		slot, ok, err := x.slot(id)
		if err != nil || !ok {
			return err
		}
		w, err := x.walk(slot)
		if err != nil {
			return err
		}
		for w.left > 0 {
			if n := s.q.find(w.next().term); n > 0 {
				s.q.counts[n-1]++
			}
		}
		return w.end()
	})
}

// Around is that of Words. spelled returns the spelled terms of a document, "" for an absent one.
func (s *Scorer) Around(ctx context.Context, dst []float64, of []Neighbours, spelled func(id uint64) string) error {
	return s.q.together(ctx, dst, of, func(id uint64) error {
		s.count(spelled(id))
		return nil
	})
}

// together calls count for each document once, which counts the query's terms in it.
func (q *query) together(ctx context.Context, dst []float64, of []Neighbours, count func(id uint64) error) error {
	known := map[uint64][]uint32{}
	all := make([]uint32, len(q.terms))
	for i, ids := range of {
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, id := range ids {
			if known[id] == nil {
				if err := count(id); err != nil {
					return err
				}
				known[id] = slices.Clone(q.counts)
			}
		}
		copy(all, known[ids[0]])
		dst[i] = q.present(all)
		if own := dst[i]; q.present(known[ids[1]]) > own || q.present(known[ids[2]]) > own {
			continue
		}
		for _, id := range ids[1:] {
			for t, n := range known[id] {
				all[t] += n
			}
		}
		dst[i] = q.present(all)
	}
	return nil
}
