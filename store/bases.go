package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/internal/limit"
)

// The codes of rows (Row.Codes) are encoded with bases, which are opaque here: numbers fitted by the
// code that makes the codes. They are numbered from 0 upwards, and stay as long as the database,
// since rows of any age may need them. A new one belongs to the batch with the first rows that need
// it.

// maxBasisBytes is the maximum length of a basis in bytes.
const maxBasisBytes = 64 << 20

// errBasis reports a basis that the store cannot store.
var errBasis = errors.New("invalid basis")

// AddBasis stores a basis of 1 to maxBasisBytes bytes under the next number. number must be the
// current number of bases, including those added by this batch. The basis becomes visible at Commit,
// which needs at least one changed document. After an error the batch can only be discarded.
func (b *Batch) AddBasis(ctx context.Context, number int, basis []byte) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.s.leave()
	if b.err = checkBasis(uint64(number), b.st.bases, len(basis)); b.err == nil {
		b.w.frees = false
		if b.err = b.w.record(ctx, prefixBasis, b.st.bases, basis); b.err == nil {
			b.st.bases++
		}
	}
	return b.err
}

func checkBasis(number, bases uint64, length int) error {
	switch {
	case number != bases || number >= limit.Bases:
		return fmt.Errorf("%w: number %d where there are %d of at most %d", errBasis, number, bases, limit.Bases)
	case length < 1 || length > maxBasisBytes:
		return fmt.Errorf("%w: %d bytes; use 1 to %d", errBasis, length, maxBasisBytes)
	}
	return nil
}

// BasisCount returns the number of bases at the last commit.
func (s *Store) BasisCount() int { return int(s.current().bases) }

// Basis returns basis n, for n below BasisCount. Errors: ErrNotFound, *CorruptError. Cost: one point
// read for each 128 KiB.
func (s *Store) Basis(n int) (basis []byte, err error) {
	err = s.read(func(p *pin) error {
		basis, err = p.basis(context.Background(), uint64(n))
		return err
	})
	return basis, err
}

func (p *pin) basis(ctx context.Context, n uint64) (basis []byte, err error) {
	if n >= p.st.bases {
		return nil, fmt.Errorf("basis %d of %d: %w", n, p.st.bases, ErrNotFound)
	}
	err = p.s.record(ctx, p.txn, prefixBasis, n, func(b []byte) error {
		if err := checkBasis(n, n, len(b)); err != nil {
			return fmt.Errorf("%w: %w", errRecord, err)
		}
		basis = append(make([]byte, 0, len(b)), b...)
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		err = p.s.missing(partKey(prefixBasis, n, 0))
	}
	return basis, err
}

// readBases reads all bases to check them.
func (p *pin) readBases(ctx context.Context) error {
	for n := range p.st.bases {
		if err := p.interrupted(ctx); err != nil {
			return err
		}
		if _, err := p.basis(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// writeBases writes the bases from a number on into a backup: the length and the beginning of each
// in a frame, the rest in further frames.
func (p *pin) writeBases(ctx context.Context, w *partWriter, from uint64) error {
	for n := from; n < p.st.bases; n++ {
		if err := p.interrupted(ctx); err != nil {
			return err
		}
		basis, err := p.basis(ctx, n)
		if err != nil {
			return err
		}
		kind, payload := byte(frameBasis), appendNumbers(nil, uint64(len(basis)))
		for len(basis) > 0 {
			k := min(len(basis), frameMax-len(payload))
			if err := w.frame(kind, append(payload, basis[:k]...)); err != nil {
				return err
			}
			kind, payload, basis = frameBasisMore, nil, basis[k:]
		}
	}
	return nil
}

// bases reads the bases that a part of a backup adds to those of earlier parts.
func (x *restorer) bases(ctx context.Context) error {
	for x.kind == frameBasis {
		refuse := func(err error) error { return x.refuse(fmt.Sprintf("basis %d", x.basisCount), err) }
		var length uint64
		if len(x.payload) < 8 {
			return refuse(errRecord)
		}
		if err := decodeNumbers(x.payload[:8], &length); err != nil {
			return refuse(err)
		}
		if x.basisCount >= x.to.Bases || length > maxBasisBytes {
			return refuse(fmt.Errorf("%w: %d bytes, and its header tells of %d", errBasis, length, x.to.Bases))
		}
		basis := append([]byte(nil), x.payload[8:]...)
		for {
			if err := x.next(ctx); err != nil {
				return err
			}
			if x.kind != frameBasisMore || uint64(len(basis)) > length {
				break
			}
			basis = append(basis, x.payload...)
		}
		if uint64(len(basis)) != length {
			return refuse(fmt.Errorf("%w: %d of %d bytes", errBasis, len(basis), length))
		}
		if err := checkBasis(x.basisCount, x.basisCount, len(basis)); err != nil {
			return refuse(err)
		}
		if err := x.w.record(ctx, prefixBasis, x.basisCount, basis); err != nil {
			return err
		}
		x.basisCount++
	}
	if x.basisCount < x.to.Bases {
		return x.refuse(fmt.Sprintf("it has %d of %d bases", x.basisCount, x.to.Bases), nil)
	}
	return nil
}

// bases returns the bases of a damaged database, in order. ok is false if one is lost or may be: the
// codes of rows then cannot be read.
func (r *rawReader) bases(ctx context.Context) (all [][]byte, ok bool, err error) {
	want := 0
	for key := range r.at {
		if key[0] == prefixBasis {
			if n, _, ok := keyNumber([]byte(key)); ok && n < limit.Bases {
				want = max(want, int(n)+1)
			}
		}
	}
	if r.stated {
		want = int(r.st.bases)
	}
	for n := range want {
		basis, err := r.record(ctx, prefixBasis, uint64(n))
		if err == nil {
			err = checkBasis(uint64(n), uint64(n), len(basis))
		}
		if lost(err) || errors.Is(err, errBasis) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		all = append(all, basis)
	}
	return all, true, nil
}
