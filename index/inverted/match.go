package inverted

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Match says how well the words of a query match one document.
type Match struct {
	// BM25 is the score that Search gives.
	BM25 float64
	// Coverage is the normalised BM25: BM25 divided by its limit UB, in [0, 1).
	Coverage float64
	// Presence is the term recall: the share of the query's distinct words, by weight·idf, that the
	// document has, in [0, 1]. Words that no document has count among the query's.
	Presence float64
	// Pair is the bigram match: the sum of the PairShares that are found, in [0, 1].
	Pair float64
}

// Match writes the match of the query with each document into dst: zeros for a query without
// words, NaNs for an absent document. It reads the word order from the index, not the text.
// Errors: ErrLength, ErrCorrupt, that of ctx. Cost O(terms of the documents).
func (x *Words) Match(ctx context.Context, dst []Match, terms []text.Term, ids []uint64) (err error) {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d matches for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	p := x.pairs(&s.q, terms)
	for i, id := range ids {
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		slot, ok, err := x.slot(id)
		if err != nil {
			return err
		}
		if !ok {
			nan := math.NaN()
			dst[i] = Match{nan, nan, nan, nan}
			continue
		}
		if dst[i], err = p.match(&s.q, x.core, slot); err != nil {
			return err
		}
	}
	return nil
}

// SearchMatches is Search together with Match of the results, for less than both cost.
func (x *Words) SearchMatches(ctx context.Context, terms []text.Term, k int, allow func(id uint64) bool) (ids []uint64, matches []Match, err error) {
	if k < 1 {
		return nil, nil, fmt.Errorf("k is %d: %w", k, ErrBadK)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	p := x.pairs(&s.q, terms)
	score := func(n *near) (err error) {
		n.match, err = p.match(&s.q, x.core, n.slot)
		n.Score, n.matched = n.match.BM25, true
		return err
	}
	if err := s.find(ctx, x.core, k, allow, score); err != nil {
		return nil, nil, err
	}
	ids, matches = make([]uint64, len(s.best.near)), make([]Match, len(s.best.near))
	for i := range s.best.near {
		n := &s.best.near[i]
		if i%every == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if !n.matched {
			if err := score(n); err != nil {
				return nil, nil, err
			}
		}
		ids[i], matches[i] = n.ID, n.match
	}
	return ids, matches, nil
}

// Coverage is the normalised BM25: bm25/ub, with ub the limit UB of the query; 0 for a query
// without words.
func Coverage(bm25, ub float64) float64 {
	if !(ub > 0) {
		return 0
	}
	return bm25 / ub
}

// pairFinder finds the pairs of adjacent words of a query in documents.
type pairFinder struct {
	at      map[[2]uint32]int // numbers of two query terms, from 1 -> pair
	weights []float64         // of the pairs, those with a word that the index lacks included
	found   []float64
	all     float64
}

func (x *Words) pairs(q *query, terms []text.Term) *pairFinder {
	return newPairFinder(terms, x.IDF, func(word string) uint32 {
		n, ok := x.terms.find(word)
		if !ok {
			return 0
		}
		return q.find(n)
	})
}

// newPairFinder makes one for the words of a query; number is 1 + the index of a word
// in the query, 0 for one that no document has.
func newPairFinder(terms []text.Term, idf func(string) float64, number func(string) uint32) *pairFinder {
	f := &pairFinder{at: map[[2]uint32]int{}}
	for i, p := range pairsOf(terms) {
		f.weights = append(f.weights, p.weight(idf))
		f.all += f.weights[i]
		if m, n := number(p.words[0]), number(p.words[1]); m > 0 && n > 0 {
			f.at[[2]uint32{m, n}] = i
		}
	}
	f.found = make([]float64, len(f.weights))
	return f
}

// match is how the query matches the document at a slot.
func (f *pairFinder) match(q *query, c *core, slot uint32) (Match, error) {
	pair, err := f.count(q, c, slot)
	if err != nil {
		return Match{}, err
	}
	bm25, err := q.sum(c, slot)
	return q.matched(bm25, pair), err
}

// matched is the match of a document whose terms are counted in q.
func (q *query) matched(bm25, pair float64) Match {
	present := 0.0
	for n, count := range q.counts {
		if count > 0 {
			present += q.terms[n].weight
		}
	}
	return Match{
		BM25:     bm25,
		Coverage: Coverage(bm25, q.limit),
		Presence: min(Coverage(present, q.limit), 1),
		Pair:     pair,
	}
}

// count walks over a document once: it leaves the counts of the query's terms
// in q and returns the pair bonus.
func (f *pairFinder) count(q *query, c *core, slot uint32) (float64, error) {
	clear(q.counts)
	clear(f.found)
	last := uint32(0)
	w, err := c.walk(slot)
	if err != nil {
		return 0, err
	}
	for w.left > 0 {
		e := w.next()
		n := q.find(e.term)
		if n > 0 {
			q.counts[n-1]++
		}
		if e.beside {
			continue
		}
		f.meet(last, n)
		last = n
	}
	return f.bonus(), w.end()
}

// meet takes in that a word of the document follows another, each by its number in
// the query from 1, 0 for none.
func (f *pairFinder) meet(last, n uint32) {
	if last > 0 && n > 0 {
		if i, ok := f.at[[2]uint32{last, n}]; ok {
			f.found[i] = f.weights[i]
		}
	}
}

// bonus is the share of the pairs that were met.
func (f *pairFinder) bonus() float64 {
	if f.all == 0 {
		return 0
	}
	sum := 0.0
	for _, w := range f.found { // in the query's order, so that equal sets give equal sums
		sum += w
	}
	return sum / f.all
}
