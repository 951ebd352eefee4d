package inverted

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Impacts, the weights of words that a model like SPLADE gives a passage, are kept in an index of words: an impact is a
// word that occurs as often as its weight has steps. With k1 = 1000 and b = 0, BM25 grows in proportion to a count, by 1.5
// % too little at 15. The idf is taken out of the weights of a query. So the score is the inner product of the weights of
// query and passage, and snapshots, edits and checks are those of Words.

const (
	impactSteps = 8   // of a weight of 1
	mostSteps   = 127 // of any
	sparedShare = 20  // of the weights of a passage
	impactK1    = 1000
)

// ImpactOptions are those of an index of impacts of a model with this digest.
func ImpactOptions(digest string) Options {
	return Options{K1: impactK1, Analysis: digest, form: repeated}
}

// AppendImpacts appends the stored form of weights, which ascend by term: for each that has a step, the distance of its
// term from the one before as uvarint, and its steps as a byte. The smallest weights are left out as long as they have
// together at most 1/sparedShare of all: of a model of two layers that is a fifth of the words, and changes its
// nDCG@10 alone by +.06 on capret-en and +.02 on xquad-en.
func AppendImpacts(dst []byte, ws []Weighted) []byte {
	var having [mostSteps + 1]int // words by their steps
	sum := 0
	for _, w := range ws {
		n := steps(w)
		having[n]++
		sum += n
	}
	var spare [mostSteps + 1]int // of the words with so many steps
	for n, left := 1, sum/sparedShare; n <= mostSteps && left >= n; n++ {
		spare[n] = min(having[n], left/n)
		left -= n * spare[n]
		if spare[n] < having[n] {
			break
		}
	}
	next := int64(0)
	for _, w := range ws {
		n := steps(w)
		if n == 0 {
			continue
		}
		if spare[n] > 0 {
			spare[n]--
			continue
		}
		dst = append(binary.AppendUvarint(dst, uint64(int64(w.Term)-next)), byte(n))
		next = int64(w.Term) + 1
	}
	return dst
}

// steps is a weight in steps.
func steps(w Weighted) int {
	n := math.Round(float64(w.Weight) * impactSteps)
	if !(n >= 1) {
		return 0
	}
	return int(min(n, mostSteps))
}

// ImpactTerms appends the terms of stored impacts, as Edit.Add takes them. Error: ErrTerm for what AppendImpacts does not
// write.
func ImpactTerms(dst []text.Term, b []byte) ([]text.Term, error) {
	next := uint64(0)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		if n <= 0 || n >= len(b) || gap > math.MaxInt32 || next+gap > math.MaxInt32 || b[n] < 1 || b[n] > mostSteps {
			return dst, fmt.Errorf("impacts of a passage: %w", ErrTerm)
		}
		t := impactTerm(int64(next + gap))
		for range b[n] {
			dst = append(dst, t)
		}
		next += gap + 1
		b = b[n+1:]
	}
	return dst, nil
}

func impactTerm(id int64) text.Term { return text.Term{Text: strconv.FormatInt(id, 36)} }

// ImpactQuery returns the terms of a query's weights for an index of impacts, such that a score is the inner product with
// a passage's weights, as a share of the inner product of the query's with themselves.
func (x *Words) ImpactQuery(ws []Weighted) []text.Term {
	var terms []text.Term
	self := 0.0
	for _, w := range ws {
		self += float64(w.Weight) * float64(w.Weight)
	}
	for _, w := range ws {
		if t := impactTerm(int64(w.Term)); w.Weight > 0 {
			t.Weight = float32(float64(w.Weight) / (self * impactSteps * x.IDF(t.Text)))
			terms = append(terms, t)
		}
	}
	return terms
}

// ScoresOf sets dst to the BM25 of the documents ids, 0 for those that the index lacks. Errors: ErrCorrupt, that of ctx.
// Cost: O(terms of the documents).
func (x *Words) ScoresOf(ctx context.Context, dst []float64, terms []text.Term, ids []uint64) (err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	for i, id := range ids {
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		slot, ok, err := x.slot(id)
		if err == nil && ok {
			dst[i], err = s.q.score(x.core, slot)
		} else {
			dst[i] = 0
		}
		if err != nil {
			return err
		}
	}
	return nil
}
