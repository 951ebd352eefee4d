package inverted

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Weighted is an entry of a learned sparse vector: a term of a vocabulary and its weight, finite
// and ≥ 0.
type Weighted struct {
	Term   int32
	Weight float32
}

// Sparse is an index over weighted terms. The score is the inner product Σ w_q·w_d, as in SPLADE
// (the paper's Table 4). It is immutable, like Words, and lives in memory only.
type Sparse struct {
	*core
	vocab int
}

// NewSparse makes an empty index over the terms 0 to vocab−1; vocab is at most 2^24. Error:
// ErrOptions.
func NewSparse(vocab int) (*Sparse, error) {
	if vocab < 1 || vocab > 1<<24 {
		return nil, fmt.Errorf("vocabulary of %d terms: %w", vocab, ErrOptions)
	}
	return &Sparse{newCore(weighted), vocab}, nil
}

// SparseEdit makes the next value of a Sparse, as Edit does for Words.
type SparseEdit struct {
	x *Sparse
	e edit
}

// Edit begins the next value of x, as Words.Edit does.
func (x *Sparse) Edit() *SparseEdit { return &SparseEdit{x, x.edit()} }

// Add stores a document by its weights, in any order, and replaces an existing one with this id.
// Weights of 0 are left out. Errors, which change nothing: ErrTerm, ErrWeight, ErrFull.
func (e *SparseEdit) Add(id uint64, weights []Weighted) error {
	if err := e.x.check(weights); err != nil {
		return fmt.Errorf("document %d: %w", id, err)
	}
	if e.e.c.len() >= MaxLen {
		return fmt.Errorf("document %d: %w", id, ErrFull)
	}
	entries := e.e.entries[:0]
	for _, w := range weights {
		if w.Weight > 0 {
			entries = append(entries, entry{term: uint32(w.Term), weight: w.Weight})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return int(a.term) - int(b.term) })
	e.e.entries = entries
	return e.e.put(id, entries, 0)
}

// Done returns the edited value. The SparseEdit must not be used after that.
func (e *SparseEdit) Done() *Sparse { return &Sparse{e.e.done(), e.x.vocab} }

// check finds invalid weights and repeated terms.
func (x *Sparse) check(weights []Weighted) error {
	terms := make([]int32, len(weights))
	for i, w := range weights {
		if w.Term < 0 || int(w.Term) >= x.vocab {
			return fmt.Errorf("term %d of a vocabulary of %d: %w", w.Term, x.vocab, ErrTerm)
		}
		if !(w.Weight >= 0) || math.IsInf(float64(w.Weight), 0) {
			return fmt.Errorf("term %d with weight %v: %w", w.Term, w.Weight, ErrWeight)
		}
		terms[i] = w.Term
	}
	slices.Sort(terms)
	for i := 1; i < len(terms); i++ {
		if terms[i] == terms[i-1] {
			return fmt.Errorf("term %d twice: %w", terms[i], ErrTerm)
		}
	}
	return nil
}

// Search appends to dst the k documents with the highest inner product, among those that share a
// term with the query and that allow, if not nil, accepts; best first, ties by id. Errors:
// ErrBadK, ErrTerm, ErrWeight, that of ctx.
func (x *Sparse) Search(ctx context.Context, dst []Scored, weights []Weighted, k int, allow func(id uint64) bool) ([]Scored, error) {
	if k < 1 {
		return dst, fmt.Errorf("k is %d: %w", k, ErrBadK)
	}
	if err := x.check(weights); err != nil {
		return dst, fmt.Errorf("query: %w", err)
	}
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, weights)
	return s.search(ctx, dst, x.core, k, allow)
}

func (x *Sparse) prepare(q *query, weights []Weighted) {
	q.terms = q.terms[:0]
	for _, w := range weights {
		if w.Weight > 0 && x.df(uint32(w.Term)) > 0 {
			q.terms = append(q.terms, queryTerm{uint32(w.Term), float64(w.Weight)})
		}
	}
	q.base, q.slope = 0, 0
	q.ready()
}
