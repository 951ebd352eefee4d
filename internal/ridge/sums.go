// Package ridge keeps the sufficient statistics of a corpus for closed forms, and follows its changes: for
// each token the number of passages and the sum of their vectors, the mean of all vectors, and the inverse of
// their scatter. They give the ridge regression of tokens on vectors, (XᵀX + λI)⁻¹ XᵀB, without computing the
// whole matrix.
//
// Start with [NewSums] or [OpenSums], then [Sums.Edit]. [SumsOf] serves a corpus that does not change.
// [Sums.Solve] multiplies by the first factor, [Sums.CrossScatter] by the second, and [Sums.Regress] returns
// columns of the product. [Totals] are statistics of parts of a corpus that can be merged.
//
// What holds: Sums never change, and reading them is safe for concurrent use; one goroutine at a time makes
// the next version. Results are exact while [Sums.Staleness] is 0. Otherwise they use an earlier inverse,
// until [Sums.Factor] makes a new one at O(N·d² + d³) and [Sums.WithFactor] installs it. Damage is
// ErrCorrupt.
package ridge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrOptions: an option or a shape is out of its range.
	ErrOptions = errors.New("bad option")
	// ErrPassage: a passage cannot be added to the sums, or removed from them.
	ErrPassage = errors.New("bad passage")
	// ErrCorrupt: sums are damaged, or a file contains none.
	ErrCorrupt = errors.New("damaged file")
	// ErrNoFactor: no factor of these sums exists yet, so Solve cannot answer.
	ErrNoFactor = errors.New("no factor yet")
)

// Bounds of a shape.
const (
	maxDim   = 1 << 16
	maxVocab = math.MaxInt32
)

// Sums are the sufficient statistics of a corpus for its closed forms: the number of passages N,
// the mean μ of their vectors x, for each token t the number df_t of passages with it and the sum
// s_t = Σ_{p∋t} x_p, and the inverse of A = Σ(x−μ)(x−μ)ᵀ + λI.
//
// Sums are immutable. Edit makes the next version, which shares everything unchanged. All methods are safe
// for concurrent use, except that only one goroutine at a time may make the next version (Edit, WithFactor,
// Rebase).
//
// s_t is stored (a row) for frequent tokens only: for those of more than d/32 passages in a corpus
// of up to 8,192 passages, rising to 3d/20 in larger ones. Other tokens are summed on demand from
// the vectors, which the caller's function returns.
//
// The inverse is a Factor of an earlier version, with each change since as an exact rank-one step.
// After too many steps it is stale (Staleness) until WithFactor renews it.
type Sums struct {
	dim     int
	vocab   int // |V|; 0 for a vocabulary that grows
	lambda  float64
	vectors func(id uint64, space *[]float32) []float32
	rowOver int // a token of more passages has a row; negative for what keeps says
	history *history
	totals  *Totals // where the passages themselves are not known

	n      int
	total  []float64 // Σx [dim]
	frozen *frozen
	ids    []uint64          // of the slots after the frozen ones; may be appended to after len
	tokens cow.Array[posted] // [|V|], of a vocabulary that grows as far as it is known
	dead   cow.Set           // slots of passages that were removed

	rowless bool // no token gets a row before Compacted

	gen     uint64 // counts changes: passages taken in or out
	factor  *Factor
	inverse inverse // the factor's and the steps since
	exact   bool    // inverse is that of this very corpus
	// log holds the last changes, up to gen; a later version may append to its memory.
	log []change
}

// history is shared by all Sums that were made from one another.
type history struct {
	damage atomic.Pointer[error] // what a search has met
}

// change is one exact rank-one step of the centred scatter: weight·v·vᵀ. A change of weight 0 does nothing.
type change struct {
	v      []float32
	weight float64
}

// posted holds the changes of a token since the frozen part was made.
type posted struct {
	df   int32  // passages more, or less
	next uint32 // 1 + the last slot in tail
	// tail lists, as gaps, the slots after the frozen ones that have the token. A later version may append to
	// its memory.
	tail []byte
	row  *row // s_t, if it is kept
}

// row is a sum of vectors. Only the Edit that has made it changes it.
type row struct {
	sum    []float32 // [dim]
	rounds int32     // roundings since it was summed from the vectors
	by     *byte     // the Edit that may still change it
	at     int       // first byte in the section of rows
	of     *snapshot.Section
}

// frozen is the part of Sums that was built in one step, or read from a file. The zero value is empty.
type frozen struct {
	ids  []uint64 // of the slots 0, 1, …, ascending by key
	df   []uint32 // [|V|], nil for zeros
	off  []uint64 // [|V|+1] the postings of token t are post[off[t]:off[t+1]]
	post []byte
	file *snapshot.Section // of post, nil where it lies in memory
}

// key orders the ids of pieces by document: an id is piece<<44 | document, and documents come in ascending
// order.
func key(id uint64) uint64 { return id<<20 | id>>44 }

// NewSums returns the sums of an empty corpus of vectors of length dim over a vocabulary of vocab tokens (0
// for one that grows), with the ridge lambda (Lambda). vectors returns the vector [dim] of a passage by id, valid
// until the next call with the same space: *space, made if nil, may receive it.
// It must know a passage from before the passage is added until no Sums contain it, and be safe for
// concurrent use. ErrOptions for an invalid shape or ridge.
func NewSums(dim, vocab int, lambda float64, vectors func(id uint64, space *[]float32) []float32) (*Sums, error) {
	lambda, err := Lambda(lambda)
	if err != nil {
		return nil, err
	}
	if dim < 1 || dim > maxDim || vocab < 0 || vocab > maxVocab {
		return nil, fmt.Errorf("%w: sums of dimension %d over %d tokens", ErrOptions, dim, vocab)
	}
	s := &Sums{
		dim: dim, vocab: vocab, lambda: lambda, vectors: vectors, rowOver: -1, history: &history{},
		total: make([]float64, dim), frozen: &frozen{}, exact: true,
	}
	e := s.tokens.Edit()
	e.Resize(vocab)
	s.tokens = e.Done()
	s.inverse = inverse{lambda: s.lambda}
	s.factor = &Factor{inverse: s.inverse, history: s.history}
	return s, nil
}

// SumsOf returns the sums of a fixed corpus of n passages, with their factor. vector returns the
// vectors [dim] and must keep returning the same; tokens returns the tokens with lexical weight
// (encoder.Tokens.Lexical; repetition counts once). Cost O(n·d² + d³). Errors: those of
// Edit.AddAll, of tokens, and of ctx.
func SumsOf(ctx context.Context, dim, vocab, n int, vector func(i int) []float32, tokens func(i int) ([]int32, error)) (*Sums, error) {
	s, err := NewSums(dim, vocab, 0, func(id uint64, _ *[]float32) []float32 { return vector(int(id)) })
	if err != nil {
		return nil, err
	}
	e := s.Edit()
	for at := 0; at < n; at += editBatch {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var ids []uint64
		var xs [][]float32
		var lists [][]int32
		for i := at; i < min(n, at+editBatch); i++ {
			list, err := tokens(i)
			if err != nil {
				return nil, err
			}
			ids, xs, lists = append(ids, uint64(i)), append(xs, vector(i)), append(lists, list)
		}
		if err := e.AddAll(ids, xs, lists); err != nil {
			return nil, err
		}
	}
	if s, err = e.done(false); err != nil {
		return nil, err
	}
	return s.settled(ctx, s.lambda)
}

// Dim is d.
func (s *Sums) Dim() int { return s.dim }

// VocabSize is |V|; for a vocabulary that grows, one more than the highest token so far.
func (s *Sums) VocabSize() int { return s.tokens.Len() }

// Len is the number of passages N.
func (s *Sums) Len() int { return s.n }

// Lambda is the ridge λ.
func (s *Sums) Lambda() float64 { return s.lambda }

// DF is the number of passages with token id, 0 for an unknown id.
func (s *Sums) DF(id int32) int { return s.df(int(id), s.tokens.At(int(id))) }

func (s *Sums) df(t int, p posted) int {
	if uint(t) < uint(len(s.frozen.df)) {
		return int(int32(s.frozen.df[t]) + p.df)
	}
	return int(p.df)
}

// keeps reports whether a token of df passages should have a row. Between 8,192 and 39,322 passages the
// minimum df grows with the corpus.
func (s *Sums) keeps(df int) bool {
	if s.rowless {
		return false
	}
	over := s.rowOver
	if over < 0 {
		over = max(s.dim/32, min(commonRow(s.dim), s.n*s.dim>>18))
	}
	return df > over
}

// commonRow is the number of passages with a token above which the token has a row in a large corpus.
func commonRow(dim int) int { return 3 * dim / 20 }

// savedRow is the number of passages with a token above which the token's row is saved. In a corpus of up to 4M numbers
// rows would be most of a file, and Compacted makes them in some 0.1 s.
func savedRow(n, dim int) int {
	if n*dim > 1<<22 {
		return commonRow(dim)
	}
	return max(commonRow(dim), n/8)
}

// Err returns the damage that was met by reads of any version of these Sums: a damaged block of the snapshot,
// or a missing vector. Searches leave out unreadable data.
func (s *Sums) Err() error {
	if err := s.history.damage.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *Sums) damaged(err error) error {
	err = fmt.Errorf("%w: sums: %w; rebuild them from the passages", ErrCorrupt, err)
	s.history.damage.CompareAndSwap(nil, &err)
	return err
}

// slots is the number of slots. Each passage has one, in the order of adding.
func (s *Sums) slots() int { return len(s.frozen.ids) + len(s.ids) }

func (s *Sums) id(slot int) uint64 {
	if k := len(s.frozen.ids); slot >= k {
		return s.ids[slot-k]
	}
	return s.frozen.ids[slot]
}

// slot returns the slot of a passage that is there.
func (s *Sums) slot(id uint64) (int, bool) {
	ids, base := s.frozen.ids, 0
	if len(s.ids) > 0 && key(id) >= key(s.ids[0]) {
		ids, base = s.ids, len(ids)
	}
	at, ok := slices.BinarySearchFunc(ids, key(id), func(id, k uint64) int {
		if key(id) < k {
			return -1
		} else if key(id) > k {
			return 1
		}
		return 0
	})
	return base + at, ok
}

// alive calls yield with the id of each passage, ascending by key.
func (s *Sums) alive(yield func(id uint64) bool) {
	for i := range s.slots() {
		if !s.dead.Has(uint64(i)) && !yield(s.id(i)) {
			return
		}
	}
}

// vector is the vector of a passage, valid until the next one with the same space.
func (s *Sums) vector(id uint64, space *[]float32) ([]float32, error) {
	x := s.vectors(id, space)
	if len(x) != s.dim {
		return nil, s.damaged(fmt.Errorf("passage %d has a vector of length %d", id, len(x)))
	}
	return x, nil
}

var errPostings = errors.New("a list of passages is malformed")

// each calls yield with each slot that was given token t, including those of removed passages, ascending.
func (s *Sums) each(t int, p posted, yield func(slot int) bool) error {
	post, err := s.frozen.postings(t)
	if err != nil {
		return s.damaged(err)
	}
	more, err := walk(post, 0, len(s.frozen.ids), yield)
	if err == nil && more {
		_, err = walk(p.tail, len(s.frozen.ids), s.slots(), yield)
	}
	if err != nil {
		return s.damaged(err)
	}
	return nil
}

// postings returns the bytes of the frozen list of t.
func (f *frozen) postings(t int) ([]byte, error) {
	if t >= len(f.off)-1 { // there is nothing frozen, or the token came later
		return nil, nil
	}
	from, to := f.off[t], f.off[t+1]
	if from > to || to > uint64(len(f.post)) {
		return nil, errPostings
	}
	if f.file != nil {
		if err := f.file.Check(int(from), int(to-from)); err != nil {
			return nil, err
		}
	}
	return f.post[from:to], nil
}

// walk reads gaps: each slot is the previous one, plus one, plus the gap. Before the first slot stands from − 1. A
// slot that is not below end is damage. It reports whether yield wants more.
func walk(b []byte, from, end int, yield func(slot int) bool) (bool, error) {
	for len(b) > 0 {
		gap, k := uint64(b[0]), 1
		if gap >= 0x80 {
			gap, k = binary.Uvarint(b)
		}
		if k <= 0 || gap >= uint64(end-from) {
			return false, errPostings
		}
		from += int(gap)
		if !yield(from) {
			return false, nil
		}
		from++
		b = b[k:]
	}
	return true, nil
}

// rowOf returns the numbers of a row.
func (s *Sums) rowOf(r *row) ([]float32, error) {
	if r.of != nil {
		if err := r.of.Check(r.at, 4*s.dim); err != nil {
			return nil, s.damaged(err)
		}
	}
	return r.sum, nil
}

// addSum adds weight·s_t to g.
func (s *Sums) addSum(ctx context.Context, g []float64, weight float64, t int, p posted) error {
	if p.row != nil {
		sum, err := s.rowOf(p.row)
		if err == nil {
			vec.AxpyWide(g, weight, sum)
		}
		return err
	}
	return s.sumUp(ctx, g, weight, t, p)
}

// ahead is how many vectors sumUp looks up and prefetches before it adds the first of them. Waiting for each
// in turn would take half as long again.
const ahead = 32

// sumUp is addSum, computed from the vectors. It checks ctx, if not nil, about every 100 µs.
func (s *Sums) sumUp(ctx context.Context, g []float64, weight float64, t int, p posted) error {
	var stop error
	var ids [ahead]uint64
	var xs, spaces [ahead][]float32
	n, left := 0, 0
	add := func() bool {
		if left -= n * s.dim; left < 0 && ctx != nil {
			left = 1 << 18
			if stop = ctx.Err(); stop != nil {
				return false
			}
		}
		for i, id := range ids[:n] {
			if xs[i], stop = s.vector(id, &spaces[i]); stop != nil {
				return false
			}
			vec.Prefetch(xs[i], 4*s.dim)
		}
		for _, x := range xs[:n] {
			vec.AxpyWide(g, weight, x)
		}
		n = 0
		return true
	}
	err := s.each(t, p, func(slot int) bool {
		if s.dead.Len() > 0 && s.dead.Has(uint64(slot)) {
			return true
		}
		ids[n] = s.id(slot)
		n++
		return n < ahead || add()
	})
	if err == nil && stop == nil {
		add()
	}
	if err == nil {
		err = stop
	}
	return err
}

// Staleness returns how many changes (passages added or removed) the inverse does not include, and the number
// of passages. With 0 changes the sums give the same results as new ones of the same passages. Otherwise RLR
// and whiten use the last factor, or do nothing if there is none yet.
func (s *Sums) Staleness() (changes, passages int) {
	if s.exact {
		return 0, s.n
	}
	return int(s.gen - s.factor.gen), s.n
}
