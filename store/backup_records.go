package store

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/dgraph-io/badger/v4"
)

// writeDocuments writes the live versions from an ordinal on.
func (p *pin) writeDocuments(ctx context.Context, w *partWriter, from uint64, progress func(done, total int)) error {
	return p.each(ctx, prefixDocument, from, func(ord uint64, text []byte) error {
		if progress != nil && w.documents%checkEvery == 0 {
			progress(int(w.documents), int(p.st.live))
		}
		var d Document // which damage would not decode to
		if err := decodeDocument(text, &d); err != nil {
			return p.s.decoded(partKey(prefixDocument, ord, 0), err)
		}
		err := p.record(prefixRow, ord, func(rows []byte) error { return w.document(ord, text, rows) })
		if errors.Is(err, ErrNotFound) {
			err = p.s.missing(partKey(prefixRow, ord, 0))
		}
		return err
	})
}

// writeTerms writes the vocabulary from a number on.
func (p *pin) writeTerms(ctx context.Context, w *partWriter, from uint64) error {
	var terms []string
	size := 0
	flush := func() error {
		err := w.frame(frameTerms, encodeTerms(terms))
		terms, size = terms[:0], 0
		return err
	}
	err := p.terms(ctx, from, func(term string) error {
		terms = append(terms, term)
		if size += len(term); size < termsRecord {
			return nil
		}
		return flush()
	})
	if err != nil || len(terms) == 0 {
		return err
	}
	return flush()
}

// writeSurvivors writes which versions below an ordinal are live, as runs: the
// distance from the end of the run before, and the length. It returns their number.
func (p *pin) writeSurvivors(ctx context.Context, w *partWriter, below uint64) (total uint64, err error) {
	var runs []byte
	var before, start, end uint64 // ends of the run before; this one
	flush := func(least int) error {
		if start < end {
			runs = binary.AppendUvarint(binary.AppendUvarint(runs, start-before), end-start)
			before = end
		}
		if len(runs) < least {
			return nil
		}
		err := w.frame(frameSurvivors, runs)
		runs = runs[:0]
		return err
	}
	err = p.liveKeys(ctx, below, func(ord uint64) (err error) {
		if ord != end || total == 0 {
			err = flush(64 << 10)
			start = ord
		}
		end = ord + 1
		total++
		return err
	})
	if err != nil {
		return total, err
	}
	return total, flush(0)
}

// liveKeys calls fn with the ordinals of live versions below one, ascending, by
// their keys alone.
func (p *pin) liveKeys(ctx context.Context, below uint64, fn func(ord uint64) error) error {
	it, err := p.iterate(ctx, numberKey(prefixDocument, 1), numberKey(prefixDocument, below))
	if err != nil {
		return err
	}
	defer it.Close()
	deaths, err := p.deaths(ctx, 1)
	if err != nil {
		return err
	}
	defer deaths.it.Close()
	return p.eachOrdinal(ctx, it, below, func(ord uint64) error {
		dead, err := deaths.dead(ord)
		if err != nil || dead {
			return err
		}
		return fn(ord)
	})
}

// eachOrdinal calls fn with the ordinals below one whose first parts an iterator
// meets.
func (p *pin) eachOrdinal(ctx context.Context, it *badger.Iterator, below uint64, fn func(ord uint64) error) error {
	for steps := 0; it.Valid(); it.Next() {
		if steps++; steps%checkEvery == 0 {
			if err := p.interrupted(ctx); err != nil {
				return err
			}
		}
		ord, part, ok := keyNumber(it.Item().Key())
		if !ok {
			return p.s.corrupt("key "+keyName(it.Item().Key())+" is malformed", nil)
		}
		if ord >= below {
			break
		}
		if part != 0 {
			continue
		}
		if err := fn(ord); err != nil {
			return err
		}
	}
	return nil
}
