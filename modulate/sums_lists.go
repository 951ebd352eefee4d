package modulate

import (
	"context"
	"math/rand/v2"
)

// Lists reads the postings of all tokens and returns a function that says whether
// a passage is there with just these tokens of lexical weight (encoder.Tokens.Lexical;
// order and repetition do not count). It compares sums of a random 64-bit number
// for each token, so that a difference goes unnoticed once in 2⁶⁴. The function is
// for one goroutine. Errors: ErrCorrupt, that of ctx. Cost: one read of the
// postings, and 8 bytes a passage and a token of the vocabulary.
func (s *Sums) Lists(ctx context.Context) (func(id uint64, tokens []int32) bool, error) {
	marks, sums := make([]uint64, s.VocabSize()), make([]uint64, s.slots())
	for t := range marks {
		if t%(1<<12) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		marks[t] = rand.Uint64()
	}
	for t, mark := range marks {
		left, stop := 0, error(nil)
		err := s.each(t, s.tokens.At(t), func(slot int) bool {
			if left--; left < 0 {
				left = 1 << 16
				if stop = ctx.Err(); stop != nil {
					return false
				}
			}
			sums[slot] += mark
			return true
		})
		if err == nil {
			err = stop
		}
		if err != nil {
			return nil, err
		}
	}
	last := make([]int, len(marks)) // the call that met a token last
	calls := 0
	return func(id uint64, tokens []int32) bool {
		slot, ok := s.slot(id)
		if !ok || s.dead.Has(uint64(slot)) {
			return false
		}
		calls++
		var want uint64
		for _, t := range tokens {
			if uint(t) >= uint(len(marks)) {
				return false
			}
			if last[t] != calls {
				last[t], want = calls, want+marks[t]
			}
		}
		return sums[slot] == want
	}, nil
}
