package ridge

import (
	"context"
	"math/rand/v2"
	"slices"
)

// Lists reads all postings and returns a function that reports whether a passage is present with
// exactly these tokens of lexical weight (encoder.Tokens.Lexical; order and repetition do not
// count). It compares sums of a random 64-bit number for each token, so it misses a difference
// once in about 2⁶⁴. The function is for one goroutine. Errors: ErrCorrupt, that of ctx. Cost: one
// read of the postings, and 8 bytes a passage.
func (s *Sums) Lists(ctx context.Context) (func(id uint64, tokens []int32) bool, error) {
	key, sums := rand.Uint64(), make([]uint64, s.slots())
	mark := func(t int) uint64 {
		x := (key ^ uint64(t)) * 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		return x ^ x>>31
	}
	left := 0
	for t := range s.VocabSize() {
		stop, m := error(nil), mark(t)
		look := func() bool {
			if left--; left < 0 {
				left = 1 << 16
				stop = ctx.Err()
			}
			return stop == nil
		}
		if !look() {
			return nil, stop
		}
		err := s.each(t, s.tokens.At(t), func(slot int) bool {
			sums[slot] += m
			return look()
		})
		if err == nil {
			err = stop
		}
		if err != nil {
			return nil, err
		}
	}
	var list []int32
	return func(id uint64, tokens []int32) bool {
		slot, ok := s.slot(id)
		if !ok || s.dead.Has(uint64(slot)) {
			return false
		}
		list = append(list[:0], tokens...)
		slices.Sort(list)
		var want uint64
		for _, t := range slices.Compact(list) {
			if uint(t) >= uint(s.VocabSize()) {
				return false
			}
			want += mark(int(t))
		}
		return sums[slot] == want
	}, nil
}
