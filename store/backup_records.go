package store

import (
	"context"
	"encoding/binary"
	"errors"
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
		err := p.record(ctx, prefixRow, ord, func(rows []byte) error { return w.document(ord, text, rows) })
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

// writeSurvivors writes which versions below an ordinal are live, as runs: the distance
// from the end of the previous run, and the length. It returns their number.
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
	err = p.versions(ctx, prefixDocument, 1, below, func(ord uint64, dead bool) (err error) {
		if dead {
			return nil
		}
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
