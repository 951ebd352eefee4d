package inverted

import (
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// TermScore is the contribution of one distinct query term to a document's score.
type TermScore struct {
	Term      string
	Count     int     // occurrences in the document
	Documents int     // documents of the index with the term
	IDF       float64 // inverse document frequency
	Score     float64 // part of the document's BM25
	Most      float64 // part of UB; Score is below it
}

// Explain appends the distinct terms of a query, in order of first occurrence. Each has its part of
// the score of document id. The parts add up to the score of Search, and Most to UB. ok is false for an absent
// document. Error: ErrCorrupt. Cost O(terms of the document).
func (x *Words) Explain(dst []TermScore, terms []text.Term, id uint64) (out []TermScore, ok bool, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	slot, ok, err := x.slot(id)
	if !ok {
		return dst, false, err
	}
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	if _, err := s.q.score(x.core, slot); err != nil { // leaves the counts
		return dst, false, err
	}
	length, err := x.length(slot)
	if err != nil {
		return dst, false, err
	}
	at := 0
	for _, t := range distinct(terms) {
		e := TermScore{Term: t.Text, IDF: x.IDF(t.Text)}
		e.Most = float64(t.Weight) * e.IDF * (x.o.K1 + 1)
		if n, known := x.terms.find(t.Text); known && x.df(n) > 0 { // those that prepare kept, in its order
			e.Documents = int(x.df(n))
			if e.Count = int(s.q.counts[at]); e.Count > 0 {
				e.Score = s.q.saturate(s.q.terms[at].weight, s.q.counts[at], length)
			}
			at++
		}
		dst = append(dst, e)
	}
	return dst, true, nil
}

// PairShare is one of the query's distinct pairs of neighbours: adjacent words, or pieces of one.
type PairShare struct {
	First, Second string
	Share         float64 // share of the weight of all pairs, in [0, 1]
	Found         bool    // adjacent, in this order, in the passage
}

// PairShares returns the distinct pairs of neighbours in the query, and whether they are neighbours in the
// same order in the passage. Match.Pair is the sum of the shares of found pairs. The weight of a pair is the
// sum of the idf of its words. Adjacent words are neighbours. So are adjacent pieces of a word such as
// UnknownAuthorityError; its outer pieces are also neighbours of the surrounding words. Function words that
// the analyzer dropped do not separate words.
func PairShares(query, passage []text.Term, idf func(term string) float64) []PairShare {
	in := map[[2]string]struct{}{}
	for _, p := range pairsOf(passage) {
		in[p.words] = struct{}{}
	}
	pairs := pairsOf(query)
	out, all := make([]PairShare, len(pairs)), 0.0
	for i, p := range pairs {
		_, found := in[p.words]
		out[i] = PairShare{p.words[0], p.words[1], p.weight(idf), found}
		all += out[i].Share
	}
	for i := range out {
		if all > 0 {
			out[i].Share /= all
		}
	}
	return out
}
