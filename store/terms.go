package store

import (
	"context"
	"errors"
	"fmt"
)

// The vocabulary of a database numbers terms from 0 upwards, for rows whose token ids are not those of
// an encoder. It only grows: a term keeps its number even when no document has it any more. New terms
// belong to the batch that needs them.

// maxTermBytes is the maximum length of a vocabulary term in bytes.
const maxTermBytes = 255

// maxTerms is the maximum number of terms in a vocabulary: token ids are int32.
const maxTerms = 1 << 31

// termsRecord is the approximate size of the terms in one record, in bytes.
const termsRecord = 16 << 10

// errTerms reports terms that the vocabulary cannot store.
var errTerms = errors.New("invalid terms")

// AddTerms adds terms of 1 to maxTermBytes bytes that are not yet in the vocabulary. They get the
// numbers from first on; first must be the current number of terms, including those added by this
// batch. The terms become visible at Commit. After an error the batch can only be discarded.
func (b *Batch) AddTerms(ctx context.Context, first int, terms []string) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.s.leave()
	b.err = b.addTerms(first, terms)
	return b.err
}

func (b *Batch) addTerms(first int, terms []string) error {
	if uint64(first) != b.st.terms || b.st.terms+uint64(len(terms)) > maxTerms {
		return fmt.Errorf("%w: %d from number %d on, in a vocabulary of %d", errTerms, len(terms), first, b.st.terms)
	}
	b.w.frees = false
	if err := b.w.terms(b.st.terms, terms); err != nil {
		return err
	}
	b.st.terms += uint64(len(terms))
	return nil
}

// terms stages records of terms, numbered from first.
func (w *stager) terms(first uint64, terms []string) error {
	for len(terms) > 0 {
		n, size := 0, 0
		for n < len(terms) && size < termsRecord {
			if len(terms[n]) < 1 || len(terms[n]) > maxTermBytes {
				return fmt.Errorf("%w: one of %d bytes; use 1 to %d", errTerms, len(terms[n]), maxTermBytes)
			}
			size += 1 + len(terms[n])
			n++
		}
		if err := w.apply(op{numberKey(prefixTerms, first), encodeTerms(terms[:n])}); err != nil {
			return err
		}
		first += uint64(n)
		terms = terms[n:]
	}
	return nil
}

// encodeTerms returns the terms, each preceded by its length.
func encodeTerms(terms []string) (p []byte) {
	for _, t := range terms {
		p = appendBytes(p, t)
	}
	return p
}

func decodeTerms(p []byte, fn func(term string) error) error {
	r := reader{p: p}
	for len(r.p) > 0 {
		t := r.bytes()
		if r.err != nil {
			return r.err
		}
		if len(t) < 1 || len(t) > maxTermBytes {
			return fmt.Errorf("%w: a term of %d bytes", errRecord, len(t))
		}
		if err := fn(string(t)); err != nil {
			return err
		}
	}
	return nil
}

// TermCount returns the number of terms in the vocabulary.
func (s *Store) TermCount() int { return int(s.current().terms) }

// Terms calls fn with each term of the vocabulary at the last commit, from number 0 on. It stops at an
// error of fn and returns it. Cost: one pass over the vocabulary.
func (s *Store) Terms(ctx context.Context, fn func(term string) error) error {
	return s.read(func(p *pin) error { return p.terms(ctx, 0, fn) })
}

// terms calls fn with the terms from a number on, at which a record must begin: 0, or the number of
// terms after an earlier commit.
func (p *pin) terms(ctx context.Context, from uint64, fn func(term string) error) error {
	if p.st.terms == from {
		return nil
	}
	it, err := p.iterate(ctx, numberKey(prefixTerms, from), numberKey(prefixTerms, p.st.terms))
	if err != nil {
		return err
	}
	defer it.Close()
	next := from
	for ; it.Valid() && next < p.st.terms; it.Next() {
		if err := p.interrupted(ctx); err != nil {
			return err
		}
		key := it.Item().KeyCopy(nil)
		first, _, ok := keyNumber(key)
		if !ok || first != next {
			return p.missingTerms(next)
		}
		var stop error
		err := p.s.value(it.Item(), key, func(b []byte) error {
			err := decodeTerms(b, func(t string) error {
				next++
				stop = fn(t)
				return stop
			})
			if stop != nil {
				return nil
			}
			return p.s.decoded(key, err)
		})
		if err = errors.Join(err, stop); err != nil {
			return err
		}
	}
	if next != p.st.terms {
		return p.missingTerms(next)
	}
	return nil
}

func (p *pin) missingTerms(n uint64) error {
	return p.s.corrupt(fmt.Sprintf("the vocabulary of %d terms is wrong after number %d", p.st.terms, n), nil)
}

// countTerms reads the vocabulary to check it.
func (p *pin) countTerms(ctx context.Context) error {
	return p.terms(ctx, 0, func(string) error { return nil })
}
