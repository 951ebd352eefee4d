package inverted

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Neighbours are a document and the ones before and after it, which may be absent, or the document itself where there
// is none.
type Neighbours [3]uint64

// Around raises the term recall (Match.Presence) of each document in dst to that of it and its neighbours taken
// together, unless a neighbour has more of the query than the document. Errors: ErrLength, ErrCorrupt, that of ctx.
// Cost: O(terms of the documents that have neighbours).
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
	type found struct {
		at     int // its counts in counts
		recall float64
	}
	known := make(map[uint64]found, 2*len(of))
	var counts []uint32
	all := make([]uint32, len(q.terms))
	add := func(id uint64) (recall float64, err error) { // to all
		f, ok := known[id]
		if !ok {
			if err := count(id); err != nil {
				return 0, err
			}
			f = found{len(counts), q.present(q.counts)}
			counts, known[id] = append(counts, q.counts...), f
		}
		for t, n := range counts[f.at:][:len(all)] {
			all[t] += n
		}
		return f.recall, nil
	}
	for i, ids := range of {
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		clear(all)
		most := 0.0
		for _, id := range ids[1:] {
			if id == ids[0] {
				continue
			}
			recall, err := add(id)
			if err != nil {
				return err
			}
			most = max(most, recall)
		}
		if most == 0 || most > dst[i] {
			continue
		}
		if _, err := add(ids[0]); err != nil {
			return err
		}
		dst[i] = q.present(all)
	}
	return nil
}
