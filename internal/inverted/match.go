package inverted

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Match measures how well the words of a query match one document.
type Match struct {
	// BM25 is the score that Search gives.
	BM25 float64
	// Coverage is the normalised BM25: BM25 divided by its limit UB, in [0, 1).
	Coverage float64
	// Presence is the term recall: the share of the query's distinct words, by weight·idf, that the
	// document has, in [0, 1]. Words that no document has count among the query's.
	Presence float64
	// Near is the term recall of the best 24 words in a row, in [0, Presence].
	Near float64
	// Pair is the bigram match: the sum of the PairShares that are found, in [0, 1].
	Pair float64
	// Title is the title match, in [0, Presence]: the term recall of the title (text.InTitle), reduced by the
	// share of the title's words that are not in the query, to a quarter at least.
	Title float64
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
	f := x.finder(&s.q, terms)
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
			dst[i] = Match{nan, nan, nan, nan, nan, nan}
			continue
		}
		if dst[i], err = f.match(x.core, slot); err != nil {
			return err
		}
	}
	return nil
}

// SearchMatches is Search together with Match for the results, and costs less than both.
func (x *Words) SearchMatches(ctx context.Context, terms []text.Term, k int, allow func(id uint64) bool) (ids []uint64, matches []Match, err error) {
	if k < 1 {
		return nil, nil, fmt.Errorf("k is %d: %w", k, ErrBadK)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	f := x.finder(&s.q, terms)
	score := func(n *near) (err error) {
		n.match, err = f.match(x.core, n.slot)
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

// Coverage is the normalised BM25: bm25/ub, where ub is the limit UB of the query; 0 for a query without
// words.
func Coverage(bm25, ub float64) float64 {
	if !(ub > 0) {
		return 0
	}
	return bm25 / ub
}

// finder finds the words of a query in documents, one document at a time.
type finder struct {
	q       *query
	whole   []bool              // of the query's terms, whether a term beside words is a compound
	name    func(uint32) string // of a term of the index
	at      map[[2]uint32]int   // numbers of two query terms, from 1 -> pair
	weights []float64           // of the pairs, those with a word that the index lacks included
	all     float64

	// Of the document at hand; the counts of terms are in q.
	chain chain
	words uint32 // so far
	found []float64
	spots []spot
	heads heads
	title float64
	here  []uint32 // scratch of near: counts in the window
}

// heads counts the words of the title, and those of them that are in the query. For a word with pieces, the
// pieces count.
type heads struct {
	words, asked  int
	whole, pieces bool // the last word is asked; pieces of it were counted
}

// spot is the position of a query term in a document: the number of the word.
type spot struct{ word, term uint32 }

func (x *Words) finder(q *query, terms []text.Term) *finder {
	f := newFinder(q, terms, x.IDF, func(word string) uint32 {
		n, ok := x.terms.find(word)
		if !ok {
			return 0
		}
		return q.find(n)
	})
	f.name = func(term uint32) string {
		if int(term) >= x.terms.len() { // damage, which others find
			return ""
		}
		return x.terms.name(term)
	}
	return f
}

// newFinder makes a finder for the words of a query; number returns 1 + the index of a word in q, or 0 for
// a word that no document has.
func newFinder(q *query, terms []text.Term, idf func(string) float64, number func(string) uint32) *finder {
	f := &finder{q: q, at: map[[2]uint32]int{}, whole: make([]bool, len(q.terms)), here: make([]uint32, len(q.terms))}
	for _, t := range terms {
		if n := number(t.Text); n > 0 {
			f.whole[n-1] = whole(t.Text)
		}
	}
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

// match returns how well the query matches the document at a slot.
func (f *finder) match(c *core, slot uint32) (Match, error) {
	w, err := c.walk(slot)
	if err != nil {
		return Match{}, err
	}
	f.begin()
	if w.left > w.body {
		f.read(&w, w.body, true)
		f.endTitle()
	}
	f.read(&w, 0, false)
	if err := w.end(); err != nil {
		return Match{}, err
	}
	bm25, err := f.q.sum(c, slot)
	return f.matched(bm25), err
}

// read reads terms until left remain, from the title or the rest.
func (f *finder) read(w *walk, left int, title bool) {
	for w.left > left {
		e := w.next()
		n := f.q.find(e.term)
		switch {
		case !e.beside:
			f.word(n)
		case n > 0:
			f.beside(n, f.whole[n-1])
		case title || f.chain.open():
			f.beside(0, whole(f.name(e.term)))
		}
	}
}

// begin clears the data of the previous document.
func (f *finder) begin() {
	clear(f.q.counts)
	clear(f.found)
	f.chain, f.words, f.spots, f.heads, f.title = chain{}, 0, f.spots[:0], heads{}, 0
}

// word processes a word of the document; n is its number in the query from 1, or 0.
func (f *finder) word(n uint32) {
	left := f.chain.word(n)
	f.words++
	f.heads.word(n > 0)
	if n > 0 {
		f.stands(f.words, n)
		f.meet(left, n)
	}
}

func (h *heads) word(asked bool) {
	h.words++
	if asked {
		h.asked++
	}
	h.whole, h.pieces = asked, false
}

func (h *heads) piece(asked bool) {
	if h.pieces {
		h.words++
	}
	if h.whole && h.pieces || !h.whole && asked {
		h.asked++
	}
	h.pieces = true
}

// beside counts a term that is not one of the words.
func (f *finder) beside(n uint32, whole bool) {
	if whole { // it is at the word to come
		if n > 0 {
			f.stands(f.words+1, n)
		}
		return
	}
	left := f.chain.piece(n)
	f.heads.piece(n > 0)
	if n > 0 {
		f.stands(f.words, n)
		f.meet(left, n)
	}
}

func (f *finder) stands(word, n uint32) {
	f.q.counts[n-1]++
	f.spots = append(f.spots, spot{word, n - 1})
}

// meet records that a term of the query follows others.
func (f *finder) meet(left [2]uint32, n uint32) {
	for _, last := range left {
		if last > 0 {
			if i, ok := f.at[[2]uint32{last, n}]; ok {
				f.found[i] = f.weights[i]
			}
		}
	}
}

// endTitle records that all terms so far belong to the title.
func (f *finder) endTitle() {
	share := min(1, float64(f.heads.asked)/float64(max(f.heads.words, 1)))
	f.title = f.q.present(f.q.counts) * (1 + 3*share) / 4
}

// matched returns the match of the document whose terms were counted.
func (f *finder) matched(bm25 float64) Match {
	present := f.q.present(f.q.counts)
	return Match{
		BM25:     bm25,
		Coverage: Coverage(bm25, f.q.limit),
		Presence: present,
		Near:     f.near(present),
		Pair:     f.bonus(),
		Title:    f.title,
	}
}

// present is the share of the query's words that have a count.
func (q *query) present(counts []uint32) float64 {
	sum := 0.0
	for n, count := range counts {
		if count > 0 {
			sum += q.terms[n].weight
		}
	}
	return min(Coverage(sum, q.limit), 1)
}

// nearWords is the number of consecutive words that Match.Near looks at.
const nearWords = 24

// near is the greatest share of the query's words within nearWords consecutive words; present is the share
// in the whole document.
func (f *finder) near(present float64) float64 {
	spots := f.spots
	if len(spots) == 0 || spots[len(spots)-1].word-spots[0].word < nearWords {
		return present
	}
	clear(f.here)
	from, best, end := 0, 0, 0 // the best window is spots[best:end]
	sum, most := 0.0, 0.0
	for i, s := range spots {
		for s.word-spots[from].word >= nearWords {
			n := spots[from].term
			if f.here[n]--; f.here[n] == 0 {
				sum -= f.q.terms[n].weight
			}
			from++
		}
		if f.here[s.term]++; f.here[s.term] == 1 {
			if sum += f.q.terms[s.term].weight; sum > most {
				most, best, end = sum, from, i+1
			}
		}
	}
	clear(f.here)
	for _, s := range spots[best:end] { // added up in the query's order, as present is
		f.here[s.term]++
	}
	return f.q.present(f.here)
}

// bonus is the share of the pairs that were found.
func (f *finder) bonus() float64 {
	if f.all == 0 {
		return 0
	}
	sum := 0.0
	for _, w := range f.found { // in the query's order, so that equal sets give equal sums
		sum += w
	}
	return sum / f.all
}
