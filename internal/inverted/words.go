// Package inverted finds the documents that have the terms of a query: by BM25 over the words of an analyzer
// ([Words]), or by the inner product of weighted terms ([Sparse]). Start with [NewWords] or [OpenWords], then
// [Words.Edit] and [Words.Search]. [Words.Match] computes term recall, normalised BM25 and bigram match of
// given documents. [Scorer] computes the same for documents that another engine indexes.
//
// An index is a value that never changes, so readers need no lock. Edit makes the next value at a cost
// proportional to the edit; one edit runs at a time. After any edits, scores equal those of a new index of
// the same documents, to the last bit. Damage in a snapshot is ErrCorrupt.
package inverted

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Options of BM25. The zero value means k1 = 1.2, b = 0.75.
type Options struct {
	// K1 sets how soon further occurrences of a word stop counting, in (0, 1000]. 0 means 1.2; a B of
	// 0 then means 0.75.
	K1 float64
	// B sets how much the length of a document counts, 0 to 1.
	B float64
	// Analysis is the digest of the analyzer, at most 255 bytes. OpenWords refuses a snapshot of
	// another one.
	Analysis string

	form form // of forward lists
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

// Words is a BM25 index over the terms of an analyzer. It is immutable and safe for concurrent use without
// locks; Edit makes the next value. A value opened from a snapshot reads from it as long as it is used.
type Words struct {
	*core
	o     Options
	terms dictionary
}

// NewWords makes an empty index. Error: ErrOptions.
func NewWords(o Options) (*Words, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Words{core: newCore(o.form), o: o, terms: newDictionary(rand.Uint64())}, nil
}

// Bytes is the memory of the value, shared and mapped parts included. Cost O(terms).
func (x *Words) Bytes() int64 { return x.bytes() + int64(x.terms.bytes()) }

// Edit makes the next value of a Words. For one goroutine; only one edit of values with a common
// ancestor may be open at a time.
type Edit struct {
	x      *Words
	e      edit
	terms  dictionary
	hashes []uint64 // scratch of the document at hand
	err    error
}

// Edit begins the next value of x, which does not change. Values from an earlier Edit of x must not be used
// any more.
func (x *Words) Edit() *Edit { return &Edit{x: x, e: x.edit(), terms: x.terms} }

// Add stores a document by its terms, in the analyzer's order, and replaces an existing one with this id. A
// document without terms is stored and never found. Errors: ErrTerm and ErrFull, which change nothing;
// ErrCorrupt, after which the edit is unusable. Cost O(len(terms)), some 0.3 µs a term.
func (e *Edit) Add(id uint64, terms []text.Term) (err error) {
	if e.err != nil {
		return e.err
	}
	for _, t := range terms {
		if t.Text == "" || len(t.Text) > math.MaxUint16 {
			return fmt.Errorf("document %d: term of %d bytes: %w", id, len(t.Text), ErrTerm)
		}
	}
	if e.e.c.len() >= MaxLen || len(terms) > MaxLen {
		return fmt.Errorf("document %d: %w", id, ErrFull)
	}
	defer e.keep(&err)
	defer snapshot.Guard(&err)()
	entries, hashes := e.e.entries[:0], e.terms.ahead(e.hashes[:0], terms)
	for i, t := range terms {
		entries = append(entries, entry{term: e.terms.intern(t.Text, hashes[i]), beside: t.Beside, title: t.Title})
	}
	if e.e.entries, e.hashes = entries, hashes; cap(entries) > 1<<16 {
		e.e.entries, e.hashes = nil, nil
	}
	return e.e.put(id, entries, uint32(Length(terms)))
}

// Remove removes the documents that exist and returns their number. Error: ErrCorrupt, after which the edit
// is unusable.
func (e *Edit) Remove(ids []uint64) (n int, err error) {
	if e.err != nil {
		return 0, e.err
	}
	defer e.keep(&err)
	defer snapshot.Guard(&err)()
	for _, id := range ids {
		ok, err := e.e.remove(id)
		if err != nil {
			return n, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

// keep makes damage the error of all later calls.
func (e *Edit) keep(err *error) {
	wrapped(err)
	e.err = *err
}

// Done returns the edited value, or the original one if the edit met ErrCorrupt. The Edit must not be used
// afterwards.
func (e *Edit) Done() *Words {
	if e.err != nil {
		return e.x
	}
	return &Words{core: e.e.done(), o: e.x.o, terms: e.terms}
}

// Search appends to dst the k documents with the highest BM25, among those that have a word of the query and
// that allow, if not nil, accepts; best first, ties by id. A word counts once, however often the query has
// it. allow is called from this goroutine and must be fast. Errors: ErrBadK, ErrCorrupt, and that of ctx
// within some 50 µs.
func (x *Words) Search(ctx context.Context, dst []Scored, terms []text.Term, k int, allow func(id uint64) bool) (out []Scored, err error) {
	if k < 1 {
		return dst, fmt.Errorf("k is %d: %w", k, ErrBadK)
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	return s.search(ctx, dst, x.core, k, allow)
}

// prepare fills q with the distinct terms of a query that are in the index, and with the limit of all.
func (x *Words) prepare(q *query, terms []text.Term) {
	q.terms, q.limit = q.terms[:0], 0
	for _, t := range distinct(terms) {
		weight := float64(t.Weight) * x.IDF(t.Text) * (x.o.K1 + 1)
		q.limit += weight
		if n, ok := x.terms.find(t.Text); ok && x.df(n) > 0 {
			q.terms = append(q.terms, queryTerm{n, weight})
		}
	}
	q.base = x.o.K1 * (1 - x.o.B)
	q.slope = 0
	if x.total > 0 {
		q.slope = x.o.K1 * x.o.B * float64(x.live) / float64(x.total)
	}
	q.ready()
}

// distinct returns the terms without repetitions, in the order of first occurrence, each with the highest of
// its weights; a term without a weight has 1.
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

// idf is the weight of a word that df of n documents contain.
func idf(n int, df uint32) float64 {
	return math.Log(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
}

// IDF returns ln(1 + (N − df + ½)/(df + ½)), where df of N documents contain the term.
func (x *Words) IDF(term string) float64 {
	df := uint32(0)
	if n, ok := x.terms.find(term); ok {
		df = x.df(n)
	}
	return idf(x.live, df)
}

// UB returns the limit that no BM25 of the query reaches: Σ weight·idf·(k1+1) over its distinct words,
// including words that no document has.
func (x *Words) UB(terms []text.Term) float64 {
	s := takeScratch()
	defer s.giveBack()
	x.prepare(&s.q, terms)
	return s.q.limit
}
