package inverted

import (
	"fmt"
	"math"
	"slices"
)

// Weighted is a term of a vocabulary with its weight, which is finite and not
// negative: an entry of a learned sparse vector.
type Weighted struct {
	Term   int32
	Weight float32
}

// Sparse is an index over weighted terms; the score is the inner product
// Σ w_q·w_d, as in learned sparse retrieval (SPLADE; Table 4 of the paper). It
// is safe for concurrent use in the way of Words.
type Sparse struct {
	state
	vocab    int
	analysis string
}

// NewSparse makes an empty index over the terms 0 to vocab-1, vocab at most
// 2^24. analysis, at most 255 bytes, names what makes the weights; snapshots of
// another are not loaded. It fails with ErrOptions.
func NewSparse(vocab int, analysis string) (*Sparse, error) {
	if vocab < 1 || vocab > 1<<24 || len(analysis) > 255 {
		return nil, fmt.Errorf("vocabulary of %d terms, analysis of %d bytes: %w", vocab, len(analysis), ErrOptions)
	}
	return &Sparse{vocab: vocab, analysis: analysis, state: state{c: &core{weights: true, lists: make([]list, vocab)}}}, nil
}

// Add stores a document by its weights, in any order; one with this id is
// replaced. Weights of 0 are left out. Errors: ErrTerm, ErrWeight, ErrFull; then
// nothing has changed.
func (x *Sparse) Add(id uint64, weights []Weighted) error {
	if err := x.check(weights); err != nil {
		return fmt.Errorf("document %d: %w", id, err)
	}
	x.write.Lock()
	defer x.write.Unlock()
	if x.c.full() {
		return fmt.Errorf("document %d: %w", id, ErrFull)
	}
	entries := x.entries[:0]
	for _, w := range weights {
		if w.Weight > 0 {
			entries = append(entries, entry{term: uint32(w.Term), weight: w.Weight})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return int(a.term) - int(b.term) })
	x.mu.Lock()
	x.put(id, entries)
	x.mu.Unlock()
	x.compact()
	return nil
}

// check finds weights that are none and terms that are there twice.
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

// Delete removes the documents that are there and returns how many were.
func (x *Sparse) Delete(ids []uint64) int {
	x.write.Lock()
	defer x.write.Unlock()
	n := x.remove(ids)
	x.compact()
	return n
}

// Search appends to dst the k documents with the highest inner product among
// those that share a term with the query and, if allow is not nil, are allowed;
// best first, ties by id. Errors: ErrBadK, ErrTerm, ErrWeight.
func (x *Sparse) Search(dst []Scored, weights []Weighted, k int, allow func(id uint64) bool) ([]Scored, error) {
	if k < 1 {
		return dst, fmt.Errorf("k is %d: %w", k, ErrBadK)
	}
	if err := x.check(weights); err != nil {
		return dst, fmt.Errorf("query: %w", err)
	}
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, weights)
	return s.search(dst, x.c, k, allow), nil
}

// Scores writes the inner product with each document into dst, the same number
// that Search gives; 0 for one that shares no term, NaN for an absent one.
// Errors: ErrLength, ErrTerm, ErrWeight.
func (x *Sparse) Scores(dst []float64, weights []Weighted, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d scores for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	if err := x.check(weights); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, weights)
	s.q.scores(dst, x.c, ids)
	return nil
}

func (x *Sparse) prepare(q *query, weights []Weighted) {
	q.terms = q.terms[:0]
	for _, w := range weights {
		if w.Weight > 0 && x.c.lists[w.Term].df > 0 {
			q.terms = append(q.terms, queryTerm{uint32(w.Term), float64(w.Weight)})
		}
	}
	q.base, q.slope = 0, 0
	q.ready()
}
