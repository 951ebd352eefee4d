package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// The sections of Sums in a snapshot. Slots are numbered without gaps.
//
//	sums      shape, counts, Σx, the tokens that have rows, the weights of steps
//	sums.ids  uint64 × N, the passages by slot
//	sums.cnt  for each token of any passage, as uvarints: its distance from the one before (the first from -1),
//	          df, bytes of its postings
//	sums.pst  postings: each slot as its distance from the one before, less one
//	sums.row  float32 × d for each token with a row, of more passages than savedRow says: the others are summed again
//	sums.inv  float32 × d(d+1)/2, the upper triangle of the factor, or nothing
//	sums.stp  float32 × d for each step of the inverse, those of the factor first
//
// Older files have, instead of sums.cnt, sums.df, uint32 × |V|, and sums.off, uint64 × (|V|+1), the start of each
// token's postings.
const (
	sumsMeta     = "sums"
	sumsIDs      = "sums.ids"
	sumsCounts   = "sums.cnt"
	sumsDF       = "sums.df"
	sumsOffsets  = "sums.off"
	sumsPostings = "sums.pst"
	sumsRows     = "sums.row"
	sumsInverse  = "sums.inv"
	sumsSteps    = "sums.stp"
)

// maxSaved limits the size of a growing vocabulary, and so the memory that a forged file can request.
const maxSaved = 1 << 26

// Save writes the sums, their factor and the steps since as sections of a snapshot. w.Close returns write
// errors. Sums that are not in one piece are Compacted first.
func (s *Sums) Save(w *snapshot.Writer) error {
	if len(s.ids) > 0 || s.dead.Len() > 0 || len(s.frozen.off) == 0 {
		var err error
		if s, err = s.Compacted(context.Background()); err != nil {
			return err
		}
	}
	f := s.frozen
	if f.file != nil {
		if _, err := f.file.All(); err != nil {
			return s.damaged(err)
		}
	}
	if s.inverse.check != nil {
		if err := s.inverse.check(); err != nil {
			return s.damaged(err)
		}
	}
	var tokens, rounds []uint32
	var rows [][]float32
	for t, p := range s.tokens.All {
		if p.row == nil || s.rowOver < 0 && s.df(t, p) <= savedRow(s.n, s.dim) {
			continue
		}
		sum, err := s.rowOf(p.row)
		if err != nil {
			return err
		}
		tokens, rounds, rows = append(tokens, uint32(t)), append(rounds, uint32(p.row.rounds)), append(rows, sum)
	}
	w.Begin(sumsMeta)
	w.U32(uint32(s.dim))
	w.U32(uint32(s.VocabSize()))
	w.U64(math.Float64bits(s.lambda))
	w.U64(uint64(s.n))
	w.U64(s.gen)
	w.U64(s.factor.gen)
	w.U64(uint64(s.factor.n))
	w.U32(uint32(len(s.factor.q)))
	w.U32(uint32(len(s.inverse.q)))
	w.U32(uint32(len(tokens)))
	w.U32(b2u(s.exact))
	w.Float64s(s.total)
	w.Float64s(s.inverse.c)
	w.Uint32s(tokens)
	w.Uint32s(rounds)
	w.Begin(sumsIDs)
	w.Uint64s(f.ids)
	w.Begin(sumsCounts)
	last := -1
	for t, df := range f.df {
		if df > 0 {
			w.Uvarint(uint64(t - last))
			w.Uvarint(uint64(df))
			w.Uvarint(f.off[t+1] - f.off[t])
			last = t
		}
	}
	w.Begin(sumsPostings)
	if _, err := w.Write(f.post); err != nil {
		return fmt.Errorf("write sums: %w", err)
	}
	w.Begin(sumsRows)
	for _, r := range rows {
		w.Float32s(r)
	}
	w.Begin(sumsInverse)
	w.Float32s(s.inverse.packed)
	w.Begin(sumsSteps)
	for _, q := range s.inverse.q {
		w.Float32s(q)
	}
	return nil
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// OpenSums opens saved sums, for vectors of length dim over a vocabulary of vocab tokens, 0 for one that
// grows. lambda and vectors are those of NewSums. Sums saved with another ridge have no factor. f must stay
// open as long as the sums, or any made from them, are used; damage found later is reported by Err.
// ErrCorrupt for sections that are missing, damaged or of another shape. Cost: a read of 8 bytes a passage
// and some 4 for each of their tokens.
func OpenSums(dim, vocab int, lambda float64, vectors func(id uint64, space *[]float32) []float32, f *snapshot.File) (*Sums, error) {
	s, err := NewSums(dim, vocab, lambda, vectors)
	if err != nil {
		return nil, err
	}
	if err := s.open(f); err != nil {
		return nil, fmt.Errorf("%w: sums: %w; rebuild them from the passages", ErrCorrupt, err)
	}
	return s, nil
}

func (s *Sums) open(f *snapshot.File) error {
	var err error
	section := func(tag string) *snapshot.Section {
		sec, e := f.Section(tag)
		err = errors.Join(err, e)
		return sec
	}
	meta, ids := section(sumsMeta), section(sumsIDs)
	post, rows, inv, steps := section(sumsPostings), section(sumsRows), section(sumsInverse), section(sumsSteps)
	if err != nil {
		return err
	}
	r := meta.Reader()
	d, vocab := r.U32(), int64(r.U32())
	if int64(d) != int64(s.dim) || vocab > maxSaved && s.vocab == 0 || s.vocab > 0 && vocab != int64(s.vocab) {
		r.Fail("dimension %d and vocabulary %d where %d and %d are in use", d, vocab, s.dim, s.vocab)
	}
	lambda, n := math.Float64frombits(r.U64()), r.U64()
	fac := &Factor{history: s.history}
	s.gen, fac.gen = r.U64(), r.U64()
	facN := r.U64()
	own, all, k := int(r.U32()), int(r.U32()), int(r.U32())
	s.exact = r.U32() != 0
	total := r.Float64s(s.dim)
	c := r.Float64s(all)
	tokens, rounds := r.Uint32s(k), r.Uint32s(k)
	if err := r.Done(); err != nil {
		return err
	}
	full := s.dim * (s.dim + 1) / 2
	switch {
	case n > math.MaxInt32 || facN > math.MaxInt32 || ids.Len() != 8*int(n):
		r.Fail("%d passages with %d bytes of ids", n, ids.Len())
	case rows.Len()/4/s.dim != k || rows.Len()%(4*s.dim) != 0:
		r.Fail("tables of another size")
	case inv.Len() != 0 && inv.Len() != 4*full || steps.Len()/4/s.dim != all || steps.Len()%(4*s.dim) != 0 || own > all:
		r.Fail("an inverse of another size")
	case fac.gen > s.gen || n == 0 && !s.exact || !finite(total) || !finite(c):
		r.Fail("impossible numbers")
	}
	if err := r.Err(); err != nil {
		return err
	}
	s.n, s.total = int(n), total
	s.rowless = savedRow(s.n, s.dim) > commonRow(s.dim)
	z := &frozen{post: post.Raw(), file: post}
	b, err := ids.All()
	if err != nil {
		return err
	}
	z.ids = snapshot.Uint64s(b)
	if err := z.count(f, int(vocab)); err != nil {
		return err
	}
	for t, df := range z.df {
		if uint64(df) > n {
			r.Fail("token %d is in %d of %d passages", t, df, n)
			return r.Err()
		}
	}
	s.frozen = z
	e := cow.Array[posted]{}.Edit()
	e.Resize(int(vocab))
	sums := snapshot.Float32s(rows.Raw())
	for i, t := range tokens {
		if int64(t) >= vocab || rounds[i] > math.MaxInt32 {
			r.Fail("a row of token %d", t)
			return r.Err()
		}
		e.Set(int(t), posted{row: &row{sum: sums[i*s.dim : (i+1)*s.dim : (i+1)*s.dim], rounds: int32(rounds[i]), at: 4 * i * s.dim, of: rows}})
	}
	s.tokens = e.Done()
	if lambda != s.lambda {
		s.factor, s.exact = &Factor{inverse: s.inverse, history: s.history}, s.n == 0
		return nil
	}
	v := &s.inverse
	v.packed, v.c = snapshot.Float32s(inv.Raw()), clip(c)
	if len(v.packed) == 0 {
		v.packed = nil
	}
	v.check = func() error {
		if err := inv.Check(0, inv.Len()); err != nil {
			return err
		}
		return steps.Check(0, steps.Len())
	}
	qs := snapshot.Float32s(steps.Raw())
	for j := range all {
		v.q = append(v.q, qs[j*s.dim:(j+1)*s.dim:(j+1)*s.dim])
	}
	fac.inverse, fac.n = *v, int(facN)
	fac.q, fac.c = clip(v.q[:own]), clip(v.c[:own])
	s.factor = fac
	return nil
}

// count reads the number of passages of each token, and the positions of its postings.
func (z *frozen) count(f *snapshot.File, vocab int) error {
	counts, err := f.Section(sumsCounts)
	if err != nil {
		return z.countOlder(f, vocab)
	}
	z.df, z.off = make([]uint32, vocab), make([]uint64, vocab+1)
	r, t, end := counts.Reader(), -1, uint64(0)
	for r.Len() > 0 {
		step, df, n := r.Uvarint(), r.Uvarint(), r.Uvarint()
		if r.Err() != nil {
			break
		}
		if step == 0 || step > uint64(vocab-1-t) || df > math.MaxInt32 || n > uint64(len(z.post))-end {
			r.Fail("%d passages of token %d and %d", df, t, step)
			break
		}
		for ; step > 0; step-- {
			t++
			z.off[t] = end
		}
		z.df[t], end = uint32(df), end+n
	}
	for ; t < vocab; t++ {
		z.off[t+1] = end
	}
	return r.Done()
}

// countOlder is count for a file that stores both numbers for all tokens.
func (z *frozen) countOlder(f *snapshot.File, vocab int) error {
	all := func(tag string, size int) ([]byte, error) {
		s, err := f.Section(tag)
		if err != nil {
			return nil, err
		}
		if s.Len() != size {
			return nil, fmt.Errorf("section %q of %d bytes, not %d", tag, s.Len(), size)
		}
		return s.All()
	}
	df, err := all(sumsDF, 4*vocab)
	if err != nil {
		return err
	}
	off, err := all(sumsOffsets, 8*(vocab+1))
	if err != nil {
		return err
	}
	z.df, z.off = snapshot.Uint32s(df), snapshot.Uint64s(off)
	return nil
}

func finite(x []float64) bool {
	for _, f := range x {
		if f-f != 0 {
			return false
		}
	}
	return true
}
