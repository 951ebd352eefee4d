package inverted

import (
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/text"
)

// Match tells how the words of a query stand in one document.
type Match struct {
	// BM25 is the score that Search gives.
	BM25 float64
	// Coverage is BM25 over its limit UB, in [0, 1).
	Coverage float64
	// Presence is the share of the query's distinct words, by weight and idf, that
	// stand in the document, in [0, 1]; words that no document has count among the
	// query's. It is the coverage as k1 goes to 0: how often a word stands there,
	// and in how long a text, is left out.
	Presence float64
	// Pair is PairBonus with the index's own idf, in [0, 1].
	Pair float64
}

// Match writes into dst how the query matches each document: zeros for a query
// without words, NaNs for an absent document. It fails with ErrLength. The
// order of a document's words is kept in the index, so no text is read. Cost
// O(terms of the documents).
func (x *Words) Match(dst []Match, terms []text.Term, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d matches for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, terms)
	p := x.pairs(&s.q, terms)
	for i, id := range ids {
		slot, ok := x.c.slot(id)
		if !ok {
			nan := math.NaN()
			dst[i] = Match{nan, nan, nan, nan}
			continue
		}
		dst[i] = Match{Pair: p.count(&s.q, x.c, slot)}
		present := 0.0
		for n, count := range s.q.counts {
			if count > 0 {
				present += s.q.terms[n].weight
			}
		}
		dst[i].BM25 = s.q.sum(x.c, slot)
		dst[i].Coverage = Coverage(dst[i].BM25, s.q.limit)
		dst[i].Presence = min(Coverage(present, s.q.limit), 1)
	}
	return nil
}

// Coverage is the share of the query that a document covers: its BM25 over the
// limit UB of the query's BM25; in [0, 1), and 0 for a query without words.
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
	f := &pairFinder{at: map[[2]uint32]int{}}
	for i, p := range pairsOf(terms) {
		f.weights = append(f.weights, p.weight(x.idf))
		f.all += f.weights[i]
		a, okA := x.terms[p.words[0]]
		b, okB := x.terms[p.words[1]]
		if !okA || !okB {
			continue
		}
		if m, n := q.find(a), q.find(b); m > 0 && n > 0 {
			f.at[[2]uint32{m, n}] = i
		}
	}
	f.found = make([]float64, len(f.weights))
	return f
}

// count walks over a document once: it leaves the counts of the query's terms
// in q and returns the pair bonus.
func (f *pairFinder) count(q *query, c *core, slot uint32) float64 {
	clear(q.counts)
	clear(f.found)
	last := uint32(0)
	for w := c.walk(slot); w.left > 0; {
		e := w.next()
		n := q.find(e.term)
		if n > 0 {
			q.counts[n-1]++
		}
		if e.beside {
			continue
		}
		if last > 0 && n > 0 {
			if i, ok := f.at[[2]uint32{last, n}]; ok {
				f.found[i] = f.weights[i]
			}
		}
		last = n
	}
	if f.all == 0 {
		return 0
	}
	sum := 0.0
	for _, w := range f.found { // in the query's order, so that equal sets give equal sums
		sum += w
	}
	return sum / f.all
}
