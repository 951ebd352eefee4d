package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// Kinds of Fusion.
const (
	// Calibrated adds absolute scores: cos(q_out, p) + Beta·coverage + Pair·pair
	// bonus. Coverage is BM25 over the most that BM25 can give this query, so it
	// is high where the words of the query stand in the passage and low for
	// questions: one setting serves keywords, spans and questions.
	Calibrated = "calibrated"
	// RRF adds reciprocal ranks, 1/(RankConstant + rank) of each leg.
	RRF = "rrf"
	// Convex adds both legs' scores after scaling each to [0, 1] over the
	// candidates: (1 − LexicalShare)·dense + LexicalShare·BM25.
	Convex = "convex"
)

// Fusion says how the dense and the lexical leg of a hybrid search are joined.
// The zero value is Calibrated with its defaults.
type Fusion struct {
	// Kind is Calibrated (also ""), RRF or Convex.
	Kind string
	// Beta is the weight of the coverage in Calibrated; 0 means 1.
	Beta float64
	// Pair is the weight of the pair bonus in Calibrated, the share (by idf) of
	// the query's adjacent word pairs that stand adjacent in the passage; 0
	// means 0.2, below 0 means none.
	Pair float64
	// RankConstant of RRF; 0 means 60.
	RankConstant float64
	// LexicalShare of Convex, in [0, 1]; 0 means 0.3.
	LexicalShare float64
}

// fill returns f with its defaults, or ErrInvalid.
func (f Fusion) fill() (Fusion, error) {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&f.Beta, 1)
	def(&f.Pair, 0.2)
	def(&f.RankConstant, 60)
	def(&f.LexicalShare, 0.3)
	f.Pair = max(f.Pair, 0)
	if f.Kind == "" {
		f.Kind = Calibrated
	}
	switch {
	case !slices.Contains([]string{Calibrated, RRF, Convex}, f.Kind):
		return f, fmt.Errorf("%w: fusion %q; use %s, %s or %s", ErrInvalid, f.Kind, Calibrated, RRF, Convex)
	case !(f.Beta > 0 && f.Beta <= 1000 && f.Pair <= 1000):
		return f, fmt.Errorf("%w: fusion weights β %v and π %v; use numbers up to 1000", ErrInvalid, f.Beta, f.Pair)
	case !(f.RankConstant > 0 && f.RankConstant <= 1e6):
		return f, fmt.Errorf("%w: rank constant %v; use a positive number", ErrInvalid, f.RankConstant)
	case !(f.LexicalShare > 0 && f.LexicalShare <= 1):
		return f, fmt.Errorf("%w: lexical share %v; use a number up to 1", ErrInvalid, f.LexicalShare)
	}
	return f, nil
}

// candidate is a document that a leg has found, with the scores of both legs.
type candidate struct {
	ord   uint64
	dense float64 // cosine of the modulated query vector
	bm25  float64
	cover float64 // coverage, in [0, 1)
	pair  float64 // pair bonus, in [0, 1]
	score float64 // what the ranking is by
}

// fuse scores and sorts cs, whose legs are complete: best first, ties by
// ordinal. cs is not empty.
func (f Fusion) fuse(cs []candidate) {
	for i := range cs {
		cs[i].score = 0
	}
	switch f.Kind {
	case Calibrated:
		for i := range cs {
			c := &cs[i]
			c.score = c.dense + f.Beta*c.cover + f.Pair*c.pair
		}
	case RRF:
		for leg, by := range legs {
			sortBy(cs, by)
			for i := range cs {
				// A document without any word of the query has no lexical rank.
				if leg == 0 || cs[i].bm25 > 0 {
					cs[i].score += 1 / (f.RankConstant + float64(i+1))
				}
			}
		}
	case Convex:
		for leg, share := range []float64{1 - f.LexicalShare, f.LexicalShare} {
			by := legs[leg]
			lo, hi := by(cs[0]), by(cs[0])
			for _, c := range cs {
				lo, hi = min(lo, by(c)), max(hi, by(c))
			}
			for i := range cs {
				if hi > lo {
					cs[i].score += share * (by(cs[i]) - lo) / (hi - lo)
				}
			}
		}
	}
	sortBy(cs, func(c candidate) float64 { return c.score })
}

// legs read the score of either leg.
var legs = []func(candidate) float64{
	func(c candidate) float64 { return c.dense },
	func(c candidate) float64 { return c.bm25 },
}

func sortBy(cs []candidate, by func(candidate) float64) {
	slices.SortFunc(cs, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(a.ord, b.ord))
	})
}
