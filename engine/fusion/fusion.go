// Package fusion combines the scores of the dense and the lexical retriever. Start with [Options.Fuse], which scores
// and sorts candidates; [Options.Terms] gives the summands of a score. Calibrated, the default, adds absolute scores:
// cosine, term recall of the passage, of its best part and of the title, normalised BM25, bigram match and, if they are
// kept, token states. RRF adds reciprocal ranks, and Convex adds scores scaled to a range. docs/method.md has the
// equations.
//
// Every candidate needs its true scores of both retrievers, even if only one found it. Candidates of equal
// score are ordered by Ord. Options out of range are engine.ErrInvalid. The cost is O(n log n).
package fusion

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/inverted"
)

// Kinds of fusion.
const (
	// Calibrated adds absolute scores, so one setting serves every corpus (docs/method.md):
	//
	//	κ·(1 − Unknown)·cos(q_out, p) + Presence·s^1.25 + Near·n^1.25 + (Beta + 2·Unknown)·c + Pair·m + Title·h^1.25 [+ κ·Tokens·T] [+ ω·w]
	//
	// s is the term recall, n that of the best 24 consecutive words, h the title match, c the normalised BM25, m the
	// bigram match, T the score of token states, if these are kept (Answered), w that of impacts (WithSparse). κ is 1, or the factor of Calibrate.
	Calibrated = "calibrated"
	// RRF adds reciprocal ranks, 1/(RankConstant + rank) of each retriever.
	RRF = "rrf"
	// Convex scales the scores of each retriever to [0, 1] over the candidates and adds them: (1 −
	// LexicalShare)·dense + LexicalShare·BM25.
	Convex = "convex"
)

// DefaultTokens is the weight of the token states that Options.Tokens 0 means.
const DefaultTokens = 1

// Options choose how the scores of the dense and the lexical retriever are combined. The zero value is
// Calibrated with its defaults.
type Options struct {
	// Kind is Calibrated (also ""), RRF or Convex.
	Kind string
	// Presence is the weight of the term recall in Calibrated: the idf-weighted share of the query's words
	// that the passage has, with the passages beside it (FuseAround), to the power 1.25. 0 means 0.25, in a database
	// of source code 0.5; a negative value no weight; at most 1000.
	Presence float64
	// Near is the weight of the nearness of words in Calibrated: the greatest share of the query's words in
	// 24 consecutive words of the passage, to the power 1.25. 0 means 0.07, a negative value no weight; at
	// most 1000.
	Near float64
	// Beta is the weight of the normalised BM25 in Calibrated: BM25 divided by its maximum for this query. 0
	// means 0.1, a negative value no weight; at most 1000.
	Beta float64
	// Pair is the weight of the bigram match in Calibrated: the idf-weighted share of the query's pairs of
	// adjacent words that are adjacent in the passage. 0 means 0.2, a negative value no weight; at most 1000.
	Pair float64
	// Title is the weight of the title match in Calibrated (inverted.Match.Title), to the power 1.25. It is high
	// if the title has most of the query and little else. 0 means 0.2, a negative value no weight; at most 1000.
	Title float64
	// Tokens is the weight of the token states (Answered) in Calibrated, if these are kept. 0 means 1, a
	// negative value no weight; at most 1000. A dense search compares tokens only if it is above 0; 1 is a good
	// value there. A search multiplies it by 16/n for a query of n > 16 tokens and by 1 − Unknown.
	Tokens float64
	// Reach, in [0, 1], is the term recall that the best candidate counts as having at least, in Calibrated. If no
	// candidate has it, the shares of the query (term recall, nearness, normalised BM25, bigram and title match) of all
	// candidates are raised by the same factor until one does. It is for long requests, in which most words are not
	// about the subject. 0 means no minimum; 0.55 suits requests in whole sentences.
	Reach float64
	// RankConstant of RRF, in (0, 1e6]; 0 means 60.
	RankConstant float64
	// LexicalShare of Convex, in [0, 1]; 0 means 0.3.
	LexicalShare float64
	// Unknown, in [0, 1], is the share of the query that the encoder has no tokens for. Calibrated
	// lowers the weight of the cosine by it. If it is 0, a search by text sets it.
	Unknown float64

	sparse float64 // weight of Candidate.Sparse; see WithSparse
	scale  float64 // of what the encoder's vectors give; 0 means 1. See Calibrate.
}

// fill returns f with its defaults, or engine.ErrInvalid.
func (f Options) fill() (Options, error) {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&f.Presence, 0.25)
	def(&f.Near, 0.07)
	def(&f.Beta, 0.1)
	def(&f.Pair, 0.2)
	def(&f.Title, 0.2)
	def(&f.Tokens, DefaultTokens)
	def(&f.RankConstant, 60)
	def(&f.LexicalShare, 0.3)
	f.Presence, f.Beta, f.Pair = max(f.Presence, 0), max(f.Beta, 0), max(f.Pair, 0)
	f.Near, f.Title, f.Tokens = max(f.Near, 0), max(f.Title, 0), max(f.Tokens, 0)
	f.Kind = cmp.Or(f.Kind, Calibrated)
	switch {
	case !slices.Contains([]string{Calibrated, RRF, Convex}, f.Kind):
		return f, fmt.Errorf("%w: fusion %q; use %s, %s or %s", fault.ErrInvalid, f.Kind, Calibrated, RRF, Convex)
	case !(f.Beta <= 1000 && f.Pair <= 1000 && f.Presence <= 1000):
		return f, fmt.Errorf("%w: fusion weights: presence %v, β %v and π %v; use numbers up to 1000", fault.ErrInvalid, f.Presence, f.Beta, f.Pair)
	case !(f.Near <= 1000 && f.Title <= 1000):
		return f, fmt.Errorf("%w: fusion weights: near %v, title %v; use numbers up to 1000", fault.ErrInvalid, f.Near, f.Title)
	case !(f.Tokens <= 1000):
		return f, fmt.Errorf("%w: fusion weight of tokens %v; use a number up to 1000", fault.ErrInvalid, f.Tokens)
	case !(f.Reach >= 0 && f.Reach <= 1):
		return f, fmt.Errorf("%w: reach %v; use a number from 0 to 1", fault.ErrInvalid, f.Reach)
	case !(f.RankConstant > 0 && f.RankConstant <= 1e6):
		return f, fmt.Errorf("%w: rank constant %v; use a positive number", fault.ErrInvalid, f.RankConstant)
	case !(f.Unknown >= 0 && f.Unknown <= 1):
		return f, fmt.Errorf("%w: unknown share %v; use a number from 0 to 1", fault.ErrInvalid, f.Unknown)
	case !(f.LexicalShare > 0 && f.LexicalShare <= 1):
		return f, fmt.Errorf("%w: lexical share %v; use a number up to 1", fault.ErrInvalid, f.LexicalShare)
	}
	return f, nil
}

// Check returns engine.ErrInvalid for an unknown kind or a weight out of range.
func (f Options) Check() error {
	_, err := f.fill()
	return err
}

// Term is one summand of a fused score.
type Term struct {
	Name   string  `json:"name"` // "cosine", "presence^1.25", "near^1.25", "coverage", "pair", "title^1.25", "tokens" or "sparse"; with one retriever "bm25" or the metric: "cosine", "dot", "l2"
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}

// Terms returns the summands of the score that Fuse gave a candidate, without those of weight 0. nil for
// kinds other than Calibrated, whose scores depend on all candidates.
func (f Options) Terms(c Candidate) []Term {
	f, err := f.fill()
	if err != nil || f.Kind != Calibrated {
		return nil
	}
	var terms []Term
	for _, t := range f.calibrated(&c) {
		if t.Weight > 0 {
			terms = append(terms, t)
		}
	}
	return terms
}

// unknownBeta multiplies the weight of normalised BM25 for the share of the query that the encoder does not know:
// without the cosine, term recall alone ranks worse than BM25.
const unknownBeta = 2

// calibrated returns the summands of a candidate's score in Calibrated.
func (f Options) calibrated(c *Candidate) [8]Term {
	lift, scale := max(c.Lift, 1), cmp.Or(f.scale, 1)
	return [8]Term{
		{"cosine", scale * (1 - f.Unknown), c.Dense}, {"presence^1.25", f.Presence * raised(lift), raised(max(c.Presence, c.Around))}, {"near^1.25", f.Near * raised(lift), raised(c.Near)},
		{"coverage", f.Beta*lift + unknownBeta*f.Unknown, c.Coverage}, {"pair", f.Pair * lift, c.Pair}, {"title^1.25", f.Title * raised(lift), raised(c.Title)},
		{"tokens", scale * f.Tokens, c.Tokens}, {"sparse", f.sparse, c.Sparse},
	}
}

// Candidate is a document, or a chunk of one, with the scores of both retrievers.
type Candidate struct {
	Ord            uint64  // its number in the index; in the engine, the id of a chunk
	Dense          float64 // cosine with the modulated query vector, in [-1, 1]; any score of vectors in RRF
	inverted.Match         // how the query's words stand in it
	Around         float64 // term recall together with the chunks beside it, if known; at least Presence
	Tokens         float64 // score of its token states (Answered); 0 if they are not compared
	Sparse         float64 // score of its impacts (encoder.WithSparse), 1 where it has with the query what the query has with itself; 0 if they are not compared
	Waiting        bool    // it has no vector yet: Dense, Tokens and Sparse are foretold by its words, and RRF gives it no rank by Dense
	Score          float64 // the fused score, set by Fuse
	// Lift is the factor of Options.Reach in Calibrated, the same for all candidates of a query: 1 or
	// more. Set by Fuse.
	Lift float64
}

// Fuse sets the scores of cs and sorts them, best first, ties by Ord. Every candidate must have its true
// scores of both retrievers, even if only one found it. Errors: engine.ErrInvalid for weights out of range.
// Cost O(n log n).
func (f Options) Fuse(cs []Candidate) error {
	f, err := f.fill()
	if err != nil || len(cs) == 0 {
		return err
	}
	for i := range cs {
		cs[i].Score = 0
	}
	switch f.Kind {
	case Calibrated:
		lift := f.lift(cs)
		for i := range cs {
			cs[i].Lift = lift
			for _, t := range f.calibrated(&cs[i]) {
				cs[i].Score += t.Weight * t.Value
			}
		}
	case RRF:
		for leg, by := range legs {
			Sort(cs, by)
			for i := range cs {
				// A document without any word of the query has no lexical rank, and one without a vector no other.
				if leg == 0 && !cs[i].Waiting || leg == 1 && cs[i].BM25 > 0 {
					cs[i].Score += 1 / (f.RankConstant + float64(i+1))
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
				switch {
				case hi > lo:
					cs[i].Score += share * (by(cs[i]) - lo) / (hi - lo)
				case hi > 0: // all alike: each is the best
					cs[i].Score += share
				}
			}
		}
	}
	Sort(cs, func(c Candidate) float64 { return c.Score })
	return nil
}

// mostAround is the number of the best candidates that FuseAround looks at together with their neighbours.
const mostAround = 100

// FuseAround is Fuse for parts of documents. In Calibrated it counts words of the parts beside a candidate to its term
// recall, since a long document may say each word of a query in another part. The part that has most of the query gets
// them (inverted.Words.Around), so parts of one document keep their order. beside names the neighbours of a candidate,
// recall is Words.Around. Only the candidates that Fuse ranks best are looked at.
func (f Options) FuseAround(cs []Candidate, beside func(ord uint64) inverted.Neighbours, recall func(dst []float64, of []inverted.Neighbours) error) error {
	for i := range cs {
		cs[i].Around = 0
	}
	if err := f.Fuse(cs); err != nil || f.Kind != "" && f.Kind != Calibrated {
		return err
	}
	var of []inverted.Neighbours
	var recalls []float64
	var at []int
	for i, c := range cs[:min(mostAround, len(cs))] {
		if c.Presence > 0 && c.Presence < 1 {
			of, recalls, at = append(of, beside(c.Ord)), append(recalls, c.Presence), append(at, i)
		}
	}
	if len(of) == 0 {
		return nil
	}
	if err := recall(recalls, of); err != nil {
		return err
	}
	for j, i := range at {
		cs[i].Around = recalls[j]
	}
	return f.Fuse(cs)
}

// lift is the factor for the shares of the query.
func (f Options) lift(cs []Candidate) float64 {
	most := 0.0
	for i := range cs {
		most = max(most, cs[i].Presence)
	}
	if most == 0 {
		return 1
	}
	return max(1, f.Reach/most)
}

// raised returns a share to the power of 1.25.
func raised(s float64) float64 { return s * math.Sqrt(math.Sqrt(s)) }

// Dense and Lexical return the score of one retriever.
func Dense(c Candidate) float64   { return c.Dense }
func Lexical(c Candidate) float64 { return c.BM25 }

var legs = []func(Candidate) float64{Dense, Lexical}

// Sort ranks cs by a score, highest first, ties by Ord.
func Sort(cs []Candidate, by func(Candidate) float64) {
	type key struct { // a fifth of a candidate, so that sorting moves little
		score float64
		ord   uint64
		from  int
	}
	keys := make([]key, len(cs))
	for i, c := range cs {
		keys[i] = key{by(c), c.Ord, i}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.ord, b.ord)
	})
	for i := range keys { // one circle after the other
		first, at := cs[i], i
		for keys[at].from != i {
			from := keys[at].from
			cs[at], keys[at].from = cs[from], at
			at = from
		}
		cs[at], keys[at].from = first, at
	}
}
