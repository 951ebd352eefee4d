package ridge

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/vec"
)

// maxRounds is how often a row may be rounded before Compacted computes it again: the error is
// then about 4e-6 of its length. Commits of single passages reach it after 10,000 passages with the
// token, and the vectors of all others are read again.
const maxRounds = 20_000

// Dead is the number of removed passages that still take memory.
func (s *Sums) Dead() int { return s.dead.Len() }

// Rowless reports whether frequent tokens are summed at each search until Compacted gives them rows.
func (s *Sums) Rowless() bool { return s.rowless }

// WithoutRows returns s so that it is Rowless.
func (s *Sums) WithoutRows() *Sums {
	c := *s
	c.rowless = true
	return &c
}

// Wasteful reports whether Compacted would gain much: many passages are removed, many postings
// are outside the frozen part, rows have been rounded often, or Rowless. Cost O(|V|).
func (s *Sums) Wasteful() bool {
	if s.rowless || s.dead.Len() > max(1024, s.n/4) {
		return true
	}
	size := 0
	for _, p := range s.tokens.All {
		size += cap(p.tail)
		if p.row != nil && p.row.rounds > maxRounds {
			return true
		}
	}
	return size > max(4<<20, len(s.frozen.post)/2)
}

// Compacted returns Sums of the same passages in one piece, without removed passages. Frequent
// tokens get a row, rare ones lose theirs, and rows that were rounded often are computed again.
// Cost: a read of all postings, some 10 ns each, and of the vectors for such rows; memory of both
// versions while it runs. Errors: that of ctx, ErrCorrupt, ErrPassage for sums of Totals.
func (s *Sums) Compacted(ctx context.Context) (*Sums, error) {
	if s.totals != nil {
		return nil, fmt.Errorf("%w: sums of totals have no passages to compact or save; save the totals", ErrPassage)
	}
	whole := *s
	whole.rowless = false
	s = &whole
	const gone = ^uint32(0)
	place := make([]uint32, s.slots())
	f := &frozen{ids: make([]uint64, 0, s.n), df: make([]uint32, s.VocabSize()), off: make([]uint64, s.VocabSize()+1)}
	for i := range place {
		place[i] = gone
		if !s.dead.Has(uint64(i)) {
			place[i] = uint32(len(f.ids))
			f.ids = append(f.ids, s.id(i))
		}
	}
	size := len(s.frozen.post)
	for _, p := range s.tokens.All {
		size += len(p.tail)
	}
	f.post = make([]byte, 0, size)
	tokens := cow.Array[posted]{}.Edit()
	tokens.Resize(s.VocabSize())
	for t := range s.VocabSize() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := s.tokens.At(t)
		df := s.df(t, p)
		if df > 0 {
			next, seen := uint32(0), 0
			err := s.each(t, p, func(slot int) bool {
				if to := place[slot]; to != gone {
					f.post = binary.AppendUvarint(f.post, uint64(to-next))
					next = to + 1
					seen++
				}
				return true
			})
			if err != nil {
				return nil, err
			}
			if seen != df {
				return nil, s.damaged(fmt.Errorf("token %d is in %d passages, not in %d", t, seen, df))
			}
		}
		f.df[t] = uint32(df)
		f.off[t+1] = uint64(len(f.post))
		r, err := s.settleRow(ctx, t, p, df)
		if err != nil {
			return nil, err
		}
		if r != nil {
			tokens.Set(t, posted{row: r})
		}
	}
	c := *s
	c.frozen, c.ids, c.tokens, c.dead = f, nil, tokens.Done(), cow.Set{}
	return &c, nil
}

// settleRow returns the row for token t, or nil if it needs none.
func (s *Sums) settleRow(ctx context.Context, t int, p posted, df int) (*row, error) {
	switch {
	case !s.keeps(df):
		return nil, nil
	case p.row == nil || p.row.rounds > maxRounds:
		return s.sumRow(ctx, t, p)
	}
	return p.row, nil
}

// Rebase applies the edits that led from base to s to fresh, and returns the result. fresh is
// Compacted of base; s was made from base. Cost O(|V|), some 20 ns a token, plus that of the
// edits. ErrOptions if base is not an ancestor of s. It must not run concurrently with other
// methods that make the next Sums.
func (s *Sums) Rebase(base, fresh *Sums) (*Sums, error) {
	if base.history != s.history || fresh.history != s.history || base.gen != fresh.gen || base.gen > s.gen || base.frozen != s.frozen {
		return nil, fmt.Errorf("%w: sums that were not made from one another", ErrOptions)
	}
	c := *s
	c.frozen, c.rowless = fresh.frozen, false
	c.ids = slices.Clone(fresh.ids)
	first := base.slots()
	for i := first; i < s.slots(); i++ {
		c.ids = append(c.ids, s.id(i))
	}
	shift := fresh.slots() - first
	dead := fresh.dead.Edit()
	for slot := range s.dead.All {
		if int(slot) >= first {
			dead.Add(uint64(int(slot) + shift))
		} else if !base.dead.Has(slot) {
			at, ok := fresh.slot(s.id(int(slot)))
			if !ok {
				return nil, fmt.Errorf("%w: passage %d is missing in the compacted sums", ErrOptions, s.id(int(slot)))
			}
			dead.Add(uint64(at))
		}
	}
	c.dead = dead.Done()
	tokens := fresh.tokens.Edit()
	tokens.Resize(s.VocabSize())
	for t := range s.VocabSize() {
		now, then := s.tokens.At(t), base.tokens.At(t)
		if now.df == then.df && len(now.tail) == len(then.tail) && now.row == then.row {
			continue
		}
		p := tokens.Ptr(t)
		p.df += now.df - then.df
		again := p.row
		p.row = now.row // fresh may have made one of what was there before
		if again != nil && now.row != nil && then.row != nil && again != then.row && now.row.rounds >= then.row.rounds {
			var err error
			if p.row, err = s.carry(again, then.row, now.row); err != nil {
				return nil, err
			}
		}
		p.tail = clip(p.tail)
		from := max(int(then.next), len(s.frozen.ids))
		_, err := walk(now.tail[len(then.tail):], from, s.slots(), func(slot int) bool {
			at := uint32(slot + shift)
			p.tail = binary.AppendUvarint(p.tail, uint64(at-max(p.next, uint32(len(c.frozen.ids)))))
			p.next = at + 1
			return true
		})
		if err != nil {
			return nil, s.damaged(err)
		}
	}
	c.tokens = tokens.Done()
	return &c, nil
}

// carry returns a row that was summed again of what was there then, with the changes that led from then to now.
func (s *Sums) carry(again, then, now *row) (*row, error) {
	g := make([]float64, s.dim)
	for i, r := range []*row{now, then, again} {
		sum, err := s.rowOf(r)
		if err != nil {
			return nil, err
		}
		vec.AxpyWide(g, []float64{1, -1, 1}[i], sum)
	}
	r := &row{sum: make([]float32, s.dim), rounds: again.rounds + now.rounds - then.rounds}
	r.round(g)
	return r, nil
}

// SumsBytes is the memory of Sums by part, in bytes, including mapped parts of a snapshot.
type SumsBytes struct {
	Postings int64 // which passages have a token
	Tables   int64 // tables of tokens and of passages
	Rows     int64 // sums of frequent tokens
	Factor   int64
	Steps    int64 // steps since the factor, and the changes that lead to the next
}

// Total is the sum of all parts.
func (b SumsBytes) Total() int64 { return b.Postings + b.Tables + b.Rows + b.Factor + b.Steps }

// Bytes is the memory of the sums, including parts shared with other versions and the rows that Compacted will give to
// Rowless ones. Cost O(|V|).
func (s *Sums) Bytes() SumsBytes {
	f := s.frozen
	b := SumsBytes{
		Postings: int64(len(f.post)),
		Tables:   int64(8*(len(f.ids)+len(f.off)+cap(s.ids)+s.dim) + 4*len(f.df)),
		Factor:   int64(4 * (len(s.factor.packed) + len(s.factor.q)*s.dim)),
		Steps:    int64(4 * s.dim * (len(s.inverse.q) - len(s.factor.q) + len(s.log))),
	}
	for _, p := range s.tokens.All {
		b.Tables += 40
		b.Postings += int64(cap(p.tail))
		if p.row != nil {
			b.Rows += int64(4 * s.dim)
		}
	}
	if whole := *s; s.rowless {
		whole.rowless = false
		for t := range s.VocabSize() {
			if p := s.tokens.At(t); p.row == nil && whole.keeps(s.df(t, p)) {
				b.Rows += int64(4 * s.dim)
			}
		}
	}
	return b
}
