package late

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// Query holds the token states of a query, prepared for comparison with codes. It is immutable and safe for
// concurrent use.
type Query struct {
	tokens  []int     // rows of the states that are compared
	weights []float32 // of these
	total   float64   // of the weights
	views   []view
}

// view is a query in the coordinates of a basis.
type view struct {
	basis  *Basis
	fine   sides // for codes of 2 and 4 bits
	coarse sides // for codes of 8 bits
}

// sides are unit vectors in whole numbers.
type sides struct {
	codes  []int8    // [tokens × groups × 4], tokens rounded up to a multiple of vec.SimTokens
	sums   []int32   // of the codes of each of these
	scales []float32 // of each
}

// NewQuery makes a query of states [n × dim], row by row. weights has one number ≥ 0 for each row, nil for
// all 1. Rows of weight 0 and rows marked in skip (encoder.Tokens.Special, or nil) are left out. bases are
// all bases that the codes may use. ErrLength, ErrNotFinite, or ErrOptions without a basis.
func NewQuery(states []float32, skip []bool, weights []float32, bases ...*Basis) (*Query, error) {
	if len(bases) == 0 {
		return nil, fmt.Errorf("%w: a query without a basis", ErrOptions)
	}
	dim := bases[0].dim
	rows, err := kept(nil, states, dim, skip)
	if err != nil {
		return nil, err
	}
	if weights != nil && len(weights) != len(states)/dim {
		return nil, fmt.Errorf("%w: %d weights for %d states", ErrLength, len(weights), len(states)/dim)
	}
	q := &Query{}
	for _, i := range rows {
		w := float32(1)
		if weights != nil {
			w = weights[i]
		}
		if !(w >= 0) || math.IsInf(float64(w), 0) {
			return nil, fmt.Errorf("%w: weight %v of token %d", ErrNotFinite, w, i)
		}
		if w > 0 {
			q.tokens, q.weights = append(q.tokens, i), append(q.weights, w)
			q.total += float64(w)
		}
	}
	own := gather(nil, states, dim, q.tokens)
	for _, b := range bases {
		if b.dim != dim {
			return nil, fmt.Errorf("%w: a basis of %d dimensions beside one of %d", ErrLength, b.dim, dim)
		}
		at, err := b.Project(nil, own)
		if err != nil {
			return nil, err
		}
		q.views = append(q.views, view{b, sidesOf(at, b.rank, 4), sidesOf(at, b.rank, 8)})
	}
	return q, nil
}

// sidesOf rounds the directions of rows, for comparison with codes of bits bits.
func sidesOf(rows []float32, rank, bits int) sides {
	top := float32(vec.SimTop(bits))
	n, wide := len(rows)/rank, 4*groupsOf(rank)
	tall := (n + vec.SimTokens - 1) / vec.SimTokens * vec.SimTokens
	s := sides{codes: make([]int8, tall*wide), sums: make([]int32, tall), scales: make([]float32, n)}
	for i := range n {
		row := rows[i*rank : (i+1)*rank]
		var most float32
		for _, x := range row {
			most = max(most, x, -x)
		}
		norm := vec.Norm(row)
		if most == 0 || norm == 0 {
			continue
		}
		s.scales[i] = most / top / norm
		for j, x := range row {
			c := int8(math.RoundToEven(float64(x) * float64(top) / float64(most)))
			s.codes[i*wide+j] = c
			s.sums[i] += int32(c)
		}
	}
	return s
}

// Len is the number of tokens that are compared. A query without tokens scores 0.
func (q *Query) Len() int { return len(q.tokens) }

// side returns the numbers with which codes are compared.
func (q *Query) side(c Codes) (sides, error) {
	for _, v := range q.views {
		if v.basis.id != c.basis {
			continue
		}
		if v.basis.rank != c.rank {
			break
		}
		if c.bits == 8 {
			return v.coarse, nil
		}
		return v.fine, nil
	}
	return sides{}, fmt.Errorf("%w: %08x with %d directions", ErrBasis, c.basis, c.rank)
}

// Match is how well a passage matches a query: the weighted mean, over the query's tokens, of the cosine with the
// closest token of the passage, of a part of it, and of its front. All are in [-1, 1] up to rounding, and 0 if
// either side has no tokens. A passage with the answer in one place has a high Near, one about the subject a high Front.
type Match struct {
	Whole float64
	Near  float64 // the best 32 codes in a row, of those that begin at a multiple of 32
	Front float64 // the first 48 codes
}

// frontBlocks is the number of blocks that Match.Front looks at; Match.Near looks at two.
const frontBlocks = 3

// Score compares the query with the codes of a passage. ErrBasis if q does not have their basis. Cost
// Len·codes·Rank byte multiplications.
func (q *Query) Score(c Codes) (Match, error) {
	s := queryScratches.Get().(*queryScratch)
	defer queryScratches.Put(s)
	return q.score(c, s)
}

func (q *Query) score(c Codes, s *queryScratch) (m Match, err error) {
	side, err := q.side(c)
	if err != nil || q.total == 0 || c.n == 0 {
		return m, err
	}
	n, last := len(q.weights), blocksOf(c.n)-1
	s.size(len(side.sums), groupsOf(c.rank))
	s.parts = append(s.parts[:0], s.best[:2*n]...)
	whole, now := s.parts[:n], s.parts[n:] // raised by all blocks so far, and by the last ones
	m.Near = math.Inf(-1)
	for i := range last + 1 {
		if i%2 == 0 && i > 0 {
			s.size(len(side.sums), groupsOf(c.rank))
		}
		c.block(s, i)
		vec.MaxSim(s.best, side.codes, side.sums, &s.sim)
		if i%2 == 0 && i < last && i != frontBlocks-1 {
			continue
		}
		vec.MaxLanes(now, s.best)
		var part float64
		m.Whole = 0
		for t, w := range q.weights {
			w *= side.scales[t]
			whole[t] = max(whole[t], now[t])
			part += float64(w * now[t])
			m.Whole += float64(w * whole[t])
		}
		if m.Near = max(m.Near, part); i < frontBlocks {
			m.Front = m.Whole
		}
	}
	return Match{m.Whole / q.total, m.Near / q.total, m.Front / q.total}, nil
}

// ScoreAll writes the match of each passage's codes, given as bytes, to scores, of equal length.
// Empty codes stand for a passage without token states and give NaNs. It stops soon after ctx is
// done. ErrCodes, ErrBasis, ErrLength, or that of ctx. Memory does not grow with the number of
// passages.
func (q *Query) ScoreAll(ctx context.Context, scores []Match, codes [][]byte) error {
	if len(scores) != len(codes) {
		return fmt.Errorf("%w: %d scores for %d passages", ErrLength, len(scores), len(codes))
	}
	s := queryScratches.Get().(*queryScratch)
	defer queryScratches.Put(s)
	for i, data := range codes {
		if i%16 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if len(data) == 0 {
			scores[i] = Match{math.NaN(), math.NaN(), math.NaN()}
			continue
		}
		c, err := Parse(data)
		if err == nil {
			scores[i], err = q.score(c, s)
		}
		if err != nil {
			return fmt.Errorf("passage %d of %d: %w", i, len(codes), err)
		}
	}
	return nil
}

// Tie aligns one token of the query with a token of a passage.
type Tie struct {
	Query  int     // the query's token: a row of the states given to NewQuery
	Weight float64 // its share of the query; all shares add up to 1
	From   int     // first token of the passage that the code stands for, counted among the encoded ones
	To     int     // one more than the last of them; From+1 unless codes are pooled
	Cosine float64 // in [-1, 1] up to rounding
}

// Ties appends the token alignment to dst: for each token of the query the closest token of the passage, or
// the first of equally close ones. Σ Weight·Cosine is the score, up to rounding. Nothing is appended if
// either side has no tokens. Slower than Score; meant for explanations. It returns the errors of Score.
func (q *Query) Ties(dst []Tie, c Codes) ([]Tie, error) {
	at := len(dst)
	for t := range q.tokens {
		if c.n > 0 && q.total > 0 {
			dst = append(dst, Tie{Query: q.tokens[t], Weight: q.share(t), Cosine: math.Inf(-1)})
		}
	}
	err := q.each(c, func(t, from, to int, cosine float64) {
		if tie := &dst[at+t]; cosine > tie.Cosine {
			tie.Cosine, tie.From, tie.To = cosine, from, to
		}
	})
	if err != nil {
		return dst[:at], err
	}
	return dst, nil
}

// Cosines appends to dst a Tie for every token of the query with every code of the passage, in the order of
// the codes. Ties chooses among these. Memory Len·codes. It returns the errors of Score.
func (q *Query) Cosines(dst []Tie, c Codes) ([]Tie, error) {
	at := len(dst)
	if c.n > 0 {
		dst = slices.Grow(dst, len(q.tokens)*c.n)
	}
	err := q.each(c, func(t, from, to int, cosine float64) {
		dst = append(dst, Tie{Query: q.tokens[t], Weight: q.share(t), From: from, To: to, Cosine: cosine})
	})
	if err != nil {
		return dst[:at], err
	}
	return dst, nil
}

// share is the weight of token t divided by the sum of all weights.
func (q *Query) share(t int) float64 { return float64(q.weights[t]) / q.total }

// each calls f for each code of a passage and each compared token of the query, with its number among the
// compared ones.
func (q *Query) each(c Codes, f func(t, from, to int, cosine float64)) error {
	side, err := q.side(c)
	if err != nil || q.total == 0 || c.n == 0 {
		return err
	}
	s := queryScratches.Get().(*queryScratch)
	defer queryScratches.Put(s)
	for i := range blocksOf(c.n) {
		s.size(len(side.sums), groupsOf(c.rank))
		w := c.block(s, i)
		vec.MaxSim(s.best, side.codes, side.sums, &s.sim)
		for j := range w {
			from := (i*vec.SimLanes + j) * c.pool
			for t := range q.tokens {
				f(t, from, min(from+c.pool, c.states), float64(side.scales[t]*s.best[t*vec.SimLanes+j]))
			}
		}
	}
	return nil
}

// blocksOf is the number of blocks of n codes.
func blocksOf(n int) int { return (n + vec.SimLanes - 1) / vec.SimLanes }

type queryScratch struct {
	best          []float32 // [tokens × lanes]
	parts         []float32 // [2 × tokens]
	sim           vec.Sim
	block, packed []byte
	tail          [2 * vec.SimLanes]byte // scales of a short block, again and again
}

// size allocates for n tokens and codes of the given groups; it sets best below all cosines.
func (s *queryScratch) size(n, groups int) {
	if cap(s.best) < n*vec.SimLanes {
		s.best = make([]float32, n*vec.SimLanes)
	}
	s.best = s.best[:n*vec.SimLanes]
	for n := 0; n < len(s.best); {
		n += copy(s.best[n:], lowest[:])
	}
	if wide := groups * 4 * vec.SimLanes; cap(s.block) < wide {
		s.block, s.packed = make([]byte, wide), make([]byte, wide)
	}
	s.block = s.block[:groups*4*vec.SimLanes]
	s.packed = s.packed[:cap(s.packed)]
}

// lowest is less than any cosine.
var lowest = func() (l [16 * vec.SimLanes]float32) {
	for i := range l {
		l[i] = -math.MaxFloat32
	}
	return l
}()

var queryScratches = sync.Pool{New: func() any { return new(queryScratch) }}
