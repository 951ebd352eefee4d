// Package inverted finds the documents that have the terms of a query: by
// BM25 over the words of an analyzer (Words), or by the inner product of
// weighted terms of a vocabulary (Sparse). Both are one structure: postings
// with a gap and a value, compressed, and for each document its forward list.
//
// The state after any adds, updates and deletes answers like an index made
// afresh of the documents that are left: to the last bit of every score.
package inverted

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/text"
)

// Options of BM25. The zero value means k1 1.2, b 0.75.
type Options struct {
	// K1 says how fast further occurrences of a word stop to count; above 0
	// and at most 1000. 0 means 1.2, and then B 0 means 0.75.
	K1 float64
	// B is how much long documents are marked down, 0 to 1.
	B float64
	// Analysis is the digest of the analyzer that terms come from, at most 255
	// bytes. Snapshots of another analysis are not loaded.
	Analysis string
}

func (o Options) withDefaults() (Options, error) {
	if o.K1 == 0 {
		o.K1 = 1.2
		if o.B == 0 {
			o.B = 0.75
		}
	}
	if !(o.K1 > 0 && o.K1 <= 1000 && o.B >= 0 && o.B <= 1) || len(o.Analysis) > 255 {
		return o, fmt.Errorf("k1 %v, b %v, analysis of %d bytes: %w", o.K1, o.B, len(o.Analysis), ErrOptions)
	}
	return o, nil
}

// Words is a BM25 index over the terms of an analyzer. It is safe for
// concurrent use: searches run beside each other and wait for at most one
// document to be added or removed.
type Words struct {
	state
	o     Options
	names []string          // term -> text
	terms map[string]uint32 // text -> term
}

// NewWords makes an empty index. It fails with ErrOptions.
func NewWords(o Options) (*Words, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Words{o: o, state: state{c: &core{}}, terms: map[string]uint32{}}, nil
}

// Add stores a document by its terms, in the analyzer's order; one with this
// id is replaced. A document without terms is stored and never found. Errors:
// ErrTerm, ErrFull; then nothing has changed. Cost O(len(terms)).
func (x *Words) Add(id uint64, terms []text.Term) error {
	for _, t := range terms {
		if t.Text == "" || len(t.Text) > math.MaxUint16 {
			return fmt.Errorf("document %d: term of %d bytes: %w", id, len(t.Text), ErrTerm)
		}
	}
	x.write.Lock()
	defer x.write.Unlock()
	if x.c.full() || len(terms) > MaxLen {
		return fmt.Errorf("document %d: %w", id, ErrFull)
	}
	x.mu.Lock()
	entries := x.entries[:0]
	for _, t := range terms {
		entries = append(entries, entry{term: x.intern(t.Text), beside: t.Beside})
	}
	x.put(id, entries)
	x.mu.Unlock()
	x.compact()
	return nil
}

// intern returns the number of a term, a new one if it has none.
func (x *Words) intern(term string) uint32 {
	if n, ok := x.terms[term]; ok {
		return n
	}
	n := uint32(len(x.names))
	term = strings.Clone(term)
	x.names = append(x.names, term)
	x.terms[term] = n
	x.c.lists = append(x.c.lists, list{})
	return n
}

// Delete removes the documents that are there and returns how many were.
func (x *Words) Delete(ids []uint64) int {
	x.write.Lock()
	defer x.write.Unlock()
	n := x.remove(ids)
	x.compact()
	return n
}

// Search appends to dst the k documents with the highest BM25 among those that
// have a word of the query and, if allow is not nil, are allowed; best first,
// ties by id. Words count once however often the query has them. allow is
// called from this goroutine and must be fast. Fewer than k come if fewer have
// a word. It fails with ErrBadK.
func (x *Words) Search(dst []Scored, terms []text.Term, k int, allow func(id uint64) bool) ([]Scored, error) {
	if k < 1 {
		return dst, fmt.Errorf("k is %d: %w", k, ErrBadK)
	}
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, terms)
	return s.search(dst, x.c, k, allow), nil
}

// Scores writes the BM25 of each document into dst, the same number that
// Search gives; 0 for one without a word of the query, NaN for an absent one.
// It fails with ErrLength. Cost O(terms of the documents).
func (x *Words) Scores(dst []float64, terms []text.Term, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("%d scores for %d ids: %w", len(dst), len(ids), ErrLength)
	}
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, terms)
	s.q.scores(dst, x.c, ids)
	return nil
}

// prepare fills q with the distinct terms of a query that the index has, and
// with the limit of all.
func (x *Words) prepare(q *query, terms []text.Term) {
	q.terms, q.limit = q.terms[:0], 0
	for _, t := range distinct(terms) {
		weight := float64(t.Weight) * x.idf(t.Text) * (x.o.K1 + 1)
		q.limit += weight
		if n, ok := x.terms[t.Text]; ok && x.c.lists[n].df > 0 {
			q.terms = append(q.terms, queryTerm{n, weight})
		}
	}
	q.base = x.o.K1 * (1 - x.o.B)
	q.slope = 0
	if x.c.total > 0 {
		q.slope = x.o.K1 * x.o.B * float64(x.c.live) / float64(x.c.total)
	}
	q.ready()
}

// distinct returns the terms without repetitions, in the order of their first
// occurrence, each with the highest of its weights; one without a weight has 1.
func distinct(terms []text.Term) []text.Term {
	out := make([]text.Term, 0, min(len(terms), 32))
	at := map[string]int(nil)
	for _, t := range terms {
		if !(t.Weight > 0) {
			t.Weight = 1
		}
		i := slices.IndexFunc(out[:min(len(out), 32)], func(o text.Term) bool { return o.Text == t.Text })
		if i < 0 && at != nil {
			if j, ok := at[t.Text]; ok {
				i = j
			}
		}
		if i >= 0 {
			out[i].Weight = max(out[i].Weight, t.Weight)
			continue
		}
		if len(out) >= 32 { // beyond a question, a map is faster than looking
			if at == nil {
				at = map[string]int{}
			}
			at[t.Text] = len(out)
		}
		out = append(out, t)
	}
	return out
}

// idf is how much a word that df of n documents have says.
func idf(n int, df uint32) float64 {
	return math.Log(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
}

// IDF returns ln(1 + (N − df + ½)/(df + ½)) over the N documents of which df
// have the term.
func (x *Words) IDF(term string) float64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.idf(term)
}

func (x *Words) idf(term string) float64 {
	df := uint32(0)
	if n, ok := x.terms[term]; ok {
		df = x.c.lists[n].df
	}
	return idf(x.c.live, df)
}

// UB returns the limit that no BM25 of the query reaches: Σ idf·(k1+1) over its
// distinct words, those that no document has included.
func (x *Words) UB(terms []text.Term) float64 {
	s := takeScratch()
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.prepare(&s.q, terms)
	return s.q.limit
}
