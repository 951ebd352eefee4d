package inverted

import (
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/text"
)

// Coverage is the share of the query that a document covers: its BM25 over the
// limit UB of the query's BM25; in [0, 1), and 0 for a query without words.
func Coverage(bm25, ub float64) float64 {
	if !(ub > 0) {
		return 0
	}
	return bm25 / ub
}

// Presence writes into dst, for each document, the share of the query's distinct
// words, by weight and idf, that stand in it: 0 to 1, 0 for a query without words,
// NaN for an absent document. Words that no document has count among the query's.
// It is the coverage as k1 goes to 0: how often a word stands there, and in how
// long a text, is left out. It fails with ErrLength. Cost O(terms of the
// documents).
func (x *Words) Presence(dst []float64, terms []text.Term, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d shares for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, terms)
	all := 0.0
	for _, t := range distinct(terms) {
		all += float64(t.Weight) * x.idf(t.Text) * (x.o.K1 + 1)
	}
	for i, id := range ids {
		slot, ok := x.c.slot(id)
		if !ok {
			dst[i] = math.NaN()
			continue
		}
		clear(s.q.counts)
		found := 0.0
		for w := x.c.walk(slot); w.left > 0; {
			if n := s.q.find(w.next().term); n > 0 && s.q.counts[n-1] == 0 {
				s.q.counts[n-1] = 1
			}
		}
		for n, there := range s.q.counts { // in the query's order, so that equal sets give equal sums
			if there > 0 {
				found += s.q.terms[n].weight
			}
		}
		dst[i] = 0
		if all > 0 {
			dst[i] = min(found/all, 1)
		}
	}
	return nil
}

// PairBonus is the share, weighted by idf, of the query's distinct pairs of
// adjacent words that stand adjacent and in that order in the passage: 0 to 1,
// 0 for a query of fewer than two words. A pair weighs the sum of its words'
// idf. Function words that the analyzer left out do not separate words, terms
// beside the words do not take part.
func PairBonus(query, passage []text.Term, idf func(term string) float64) float64 {
	pairs := pairsOf(query)
	var found, all float64
	var in map[[2]string]struct{}
	for _, p := range pairs {
		if in == nil {
			in = map[[2]string]struct{}{}
			for _, p := range pairsOf(passage) {
				in[p.words] = struct{}{}
			}
		}
		w := p.weight(idf)
		all += w
		if _, ok := in[p.words]; ok {
			found += w
		}
	}
	if all == 0 {
		return 0
	}
	return found / all
}

type pair struct {
	words   [2]string
	weights [2]float64 // of the words in the query
}

func (p pair) weight(idf func(string) float64) float64 {
	return p.weights[0]*idf(p.words[0]) + p.weights[1]*idf(p.words[1])
}

// pairsOf returns the distinct pairs of adjacent words in their order.
func pairsOf(terms []text.Term) []pair {
	var pairs []pair
	seen := map[[2]string]struct{}{}
	last := -1
	for i, t := range terms {
		if t.Beside {
			continue
		}
		if last >= 0 {
			w := [2]string{terms[last].Text, t.Text}
			if _, ok := seen[w]; !ok {
				seen[w] = struct{}{}
				pairs = append(pairs, pair{w, [2]float64{weightIn(terms[last]), weightIn(t)}})
			}
		}
		last = i
	}
	return pairs
}

func weightIn(t text.Term) float64 {
	if t.Weight > 0 {
		return float64(t.Weight)
	}
	return 1
}

// Pairs writes PairBonus of the query and each document into dst, with the
// index's own idf; NaN for an absent document. The order of a document's words
// is kept in the index, so no text is read. It fails with ErrLength. Cost
// O(terms of the documents).
func (x *Words) Pairs(dst []float64, terms []text.Term, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d scores for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	type known struct {
		at     int // in found
		weight float64
	}
	pairs := pairsOf(terms)
	in := map[[2]uint32]known{}
	all := 0.0
	for i, p := range pairs {
		w := p.weight(x.idf)
		all += w
		a, okA := x.terms[p.words[0]]
		b, okB := x.terms[p.words[1]]
		if okA && okB {
			in[[2]uint32{a, b}] = known{i, w}
		}
	}
	seconds := map[uint32]struct{}{}
	for p := range in {
		seconds[p[1]] = struct{}{}
	}
	found := make([]float64, len(pairs))
	for i, id := range ids {
		slot, ok := x.c.slot(id)
		if !ok {
			dst[i] = math.NaN()
			continue
		}
		clear(found)
		last, any := uint32(0), false
		for w := x.c.walk(slot); w.left > 0; {
			e := w.next()
			if e.beside {
				continue
			}
			if _, ok := seconds[e.term]; ok && any {
				if p, ok := in[[2]uint32{last, e.term}]; ok {
					found[p.at] = p.weight
				}
			}
			last, any = e.term, true
		}
		sum := 0.0
		for _, w := range found {
			sum += w
		}
		dst[i] = 0
		if all > 0 {
			dst[i] = sum / all
		}
	}
	return nil
}

// PairNumbers appends a number for each distinct pair of adjacent words of a
// document, ascending; of a document of one word a number for that, and nothing
// for one without words or an absent one. Equal pairs have equal numbers, within
// one index and as long as it is open.
func (x *Words) PairNumbers(dst []uint64, id uint64) []uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	slot, ok := x.c.slot(id)
	if !ok {
		return dst
	}
	at, n, last := len(dst), 0, uint32(0)
	for w := x.c.walk(slot); w.left > 0; {
		e := w.next()
		if e.beside {
			continue
		}
		if n > 0 {
			dst = append(dst, uint64(last)<<32|uint64(e.term))
		}
		last = e.term
		n++
	}
	if n == 1 {
		dst = append(dst, uint64(last))
	}
	slices.Sort(dst[at:])
	return dst[:at+len(slices.Compact(dst[at:]))]
}
