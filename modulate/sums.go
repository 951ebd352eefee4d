package modulate

import (
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// pendingChanges is how many single updates Sums remembers as rank-one changes
// of the scatter matrix. A Cholesky inverse costs about as much as 300 of
// them at d = 384.
const pendingChanges = 128

// Sums are the sums over a corpus that the closed-form bridge needs, in
// float64: the number of passages N, Σx, Σxxᵀ, and for each token t that
// occurs s_t = Σ_{p∋t} x_p and df_t. Passages come and go; apart from rounding
// in float64 the sums equal those of a corpus built afresh. Memory is
// 8·d bytes for each token in use, 8·d² for the scatter and 8·|V| for tables.
// Safe for concurrent use.
type Sums struct {
	mu    sync.RWMutex
	dim   int
	n     int
	total []float64   // Σx [dim]
	gram  []float64   // Σxxᵀ [dim × dim], the upper triangle only
	slot  []int32     // [|V|] token → row, −1 where df = 0
	df    []int32     // [|V|]
	rows  [][]float64 // s_t [dim]
	free  []int32     // rows without a token
	mark  []uint32
	stamp uint32 // mark[t] == stamp: t was seen in the passage at hand

	// gen counts changes. changes[i] leads from generation from+i to the next.
	gen, from uint64
	changes   []change
}

// change is one exact rank-one step of the centred scatter: weight·v·vᵀ.
type change struct {
	v      []float64
	weight float64
}

// NewSums returns the sums of an empty corpus of vectors of length dim over a
// vocabulary of vocab tokens. Below 1 either is taken as 0, and no passage fits.
func NewSums(dim, vocab int) *Sums {
	dim, vocab = max(dim, 0), max(vocab, 0)
	s := &Sums{
		dim: dim, total: make([]float64, dim), gram: make([]float64, dim*dim),
		slot: make([]int32, vocab), df: make([]int32, vocab), mark: make([]uint32, vocab),
	}
	for i := range s.slot {
		s.slot[i] = -1
	}
	return s
}

// Dim is d.
func (s *Sums) Dim() int { return s.dim }

// VocabSize is |V|.
func (s *Sums) VocabSize() int { return len(s.slot) }

// Len is the number of passages N.
func (s *Sums) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.n
}

// DF is the number of passages that contain token id; 0 for an unknown id.
func (s *Sums) DF(id int32) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id < 0 || int(id) >= len(s.df) {
		return 0
	}
	return int(s.df[id])
}

// Bytes is the memory that the sums take.
func (s *Sums) Bytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(8*(len(s.total)+len(s.gram)+len(s.rows)*s.dim+len(s.changes)*s.dim) + 12*len(s.slot))
}

// Add takes in one passage: its vector x [Dim] and its tokens with lexical
// weight (encoder.Tokens.Lexical; repetition counts once). A vector of another
// length or one that is not finite, or a token outside the vocabulary, is an
// ErrPassage and changes nothing. Cost O(d² + L·d).
func (s *Sums) Add(x []float32, tokens []int32) error {
	if err := s.check(x, tokens); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(x, tokens)
	return nil
}

func (s *Sums) add(x []float32, tokens []int32) {
	if s.n > 0 {
		s.record(x, float64(s.n)/float64(s.n+1))
	} else {
		s.skip()
	}
	s.n++
	s.addGram([][]float32{x}, 1)
	s.addTokens(x, tokens)
}

// Remove takes out a passage that Add took in, with the same vector and
// tokens. Removing what cannot have been added is an ErrPassage and changes
// nothing. Cost as Add.
func (s *Sums) Remove(x []float32, tokens []int32) error {
	if err := s.check(x, tokens); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tokens {
		if s.df[t] == 0 {
			return fmt.Errorf("%w: token %d of the removed passage occurs in none; rebuild the sums", ErrPassage, t)
		}
	}
	switch s.n {
	case 0:
		return fmt.Errorf("%w: nothing left to remove; rebuild the sums", ErrPassage)
	case 1:
		s.reset()
		return nil
	}
	s.record(x, -float64(s.n)/float64(s.n-1))
	s.n--
	s.addGram([][]float32{x}, -1)
	s.eachToken(tokens, func(t int32) {
		s.df[t]--
		if s.df[t] == 0 { // freed, so that no rounding residue survives
			s.free = append(s.free, s.slot[t])
			s.slot[t] = -1
			return
		}
		row := s.rows[s.slot[t]]
		for i, f := range x {
			row[i] -= float64(f)
		}
	})
	return nil
}

// AddAll takes in len(tokens) passages at once: xs is row-major
// [len(tokens) × Dim], tokens[i] as in Add. It is much faster than as many
// calls of Add, uses two cores, and leaves the sums unchanged on error.
func (s *Sums) AddAll(xs []float32, tokens [][]int32) error {
	if len(xs) != len(tokens)*s.dim {
		return fmt.Errorf("%w: %d numbers for %d passages of dimension %d; give one vector for each passage", ErrPassage, len(xs), len(tokens), s.dim)
	}
	for i, t := range tokens {
		if err := s.check(xs[i*s.dim:(i+1)*s.dim], t); err != nil {
			return fmt.Errorf("passage %d: %w", i, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(tokens) <= gramBlock { // so few that RLR can follow by rank-one steps
		for i, t := range tokens {
			s.add(xs[i*s.dim:(i+1)*s.dim], t)
		}
		return nil
	}
	s.skip()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var block [][]float32
		for i := range tokens {
			block = append(block, xs[i*s.dim:(i+1)*s.dim])
			if len(block) == gramBlock || i == len(tokens)-1 {
				s.addGram(block, 1)
				block = block[:0]
			}
		}
	}()
	for i, t := range tokens {
		s.addTokens(xs[i*s.dim:(i+1)*s.dim], t)
	}
	<-done
	s.n += len(tokens)
	return nil
}

func (s *Sums) check(x []float32, tokens []int32) error {
	if len(x) != s.dim || !vec.Finite(x) {
		return fmt.Errorf("%w: vector of length %d where %d finite numbers are needed", ErrPassage, len(x), s.dim)
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= len(s.slot) {
			return fmt.Errorf("%w: token %d outside the vocabulary of %d; use the encoder of this corpus", ErrPassage, t, len(s.slot))
		}
	}
	return nil
}

// eachToken calls f once for each distinct token.
func (s *Sums) eachToken(tokens []int32, f func(t int32)) {
	s.stamp++
	if s.stamp == 0 { // wrapped around: forget all marks
		clear(s.mark)
		s.stamp = 1
	}
	for _, t := range tokens {
		if s.mark[t] != s.stamp {
			s.mark[t] = s.stamp
			f(t)
		}
	}
}

func (s *Sums) addTokens(x []float32, tokens []int32) {
	s.eachToken(tokens, func(t int32) {
		s.df[t]++
		row := s.row(t)[:len(x)]
		for i, f := range x {
			row[i] += float64(f)
		}
	})
}

// row returns s_t, a row of zeros where t had none.
func (s *Sums) row(t int32) []float64 {
	if s.slot[t] < 0 {
		if n := len(s.free); n > 0 {
			s.slot[t] = s.free[n-1]
			s.free = s.free[:n-1]
			clear(s.rows[s.slot[t]])
		} else {
			s.slot[t] = int32(len(s.rows))
			s.rows = append(s.rows, make([]float64, s.dim))
		}
	}
	return s.rows[s.slot[t]]
}

// gramBlock is the number of passages that addGram takes in one sweep over the
// triangle: each of its numbers is then loaded and stored once for eight
// products.
const gramBlock = 8

// addGram adds sign·Σxxᵀ and sign·Σx of at most gramBlock vectors.
func (s *Sums) addGram(xs [][]float32, sign float64) {
	var x [gramBlock][]float64
	for k := range x {
		x[k] = make([]float64, s.dim) // zeros where the block is not full
	}
	for k, v := range xs {
		for i, f := range v {
			x[k][i] = float64(f)
			s.total[i] += sign * float64(f)
		}
	}
	d := s.dim
	for i := range d {
		row := s.gram[i*d+i : (i+1)*d]
		if len(xs) == 1 {
			a := sign * x[0][i]
			for j, f := range x[0][i:] {
				row[j] += a * f
			}
			continue
		}
		n := len(row)
		x0, x1, x2, x3 := x[0][i:][:n], x[1][i:][:n], x[2][i:][:n], x[3][i:][:n]
		x4, x5, x6, x7 := x[4][i:][:n], x[5][i:][:n], x[6][i:][:n], x[7][i:][:n]
		a0, a1, a2, a3 := sign*x0[0], sign*x1[0], sign*x2[0], sign*x3[0]
		a4, a5, a6, a7 := sign*x4[0], sign*x5[0], sign*x6[0], sign*x7[0]
		for j := range row {
			row[j] += (a0*x0[j] + a1*x1[j]) + (a2*x2[j] + a3*x3[j]) +
				(a4*x4[j] + a5*x5[j]) + (a6*x6[j] + a7*x7[j])
		}
	}
}

// record remembers the exact change of the centred scatter that taking x in
// (or out) makes: weight·(x−μ)(x−μ)ᵀ with μ the mean before it.
func (s *Sums) record(x []float32, weight float64) {
	if len(s.changes) == pendingChanges {
		s.from, s.changes = s.gen, s.changes[:0]
	}
	s.gen++
	var v []float64
	if n := len(s.changes); n < cap(s.changes) {
		v = s.changes[:n+1][n].v // storage of an earlier round
	}
	if v == nil {
		v = make([]float64, s.dim)
	}
	for i, f := range x {
		v[i] = float64(f) - s.total[i]/float64(s.n)
	}
	s.changes = append(s.changes, change{v, weight})
}

// skip starts a generation that cannot be reached by rank-one changes.
func (s *Sums) skip() {
	s.gen++
	s.from = s.gen
	s.changes = s.changes[:0]
}

// reset empties the sums.
func (s *Sums) reset() {
	s.n = 0
	clear(s.total)
	clear(s.gram)
	clear(s.df)
	for i := range s.slot {
		s.slot[i] = -1
	}
	s.rows, s.free = nil, nil
	s.skip()
}
