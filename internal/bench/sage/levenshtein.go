package sage

import (
	"context"
	"math/bits"
	"sync"
)

// Levenshtein is the ratio of the python-Levenshtein package: 2·LCS/(|x|+|y|) over characters. This
// equals 1 − (distance by insertions and deletions) / (sum of the lengths). The longest common
// subsequence is found bit-parallel (Hyyrö 2004) in O(|x|·|y|/64).
var _ = register(similarity{
	Name: "levenshtein", Doc: "Levenshtein ratio over characters",
	Prepare: func(_ context.Context, _ env, texts []string) (scorer, error) {
		return newCharacters(texts), nil
	},
})

// characters holds each text as numbers of its characters.
type characters struct {
	texts    [][]int32
	alphabet int
	scratch  *sync.Pool // of *lcs
}

func newCharacters(texts []string) characters {
	numbers := map[rune]int32{}
	c := characters{texts: make([][]int32, len(texts)), scratch: &sync.Pool{New: func() any { return &lcs{} }}}
	for i, s := range texts {
		for _, r := range s {
			n, ok := numbers[r]
			if !ok {
				n = int32(len(numbers))
				numbers[r] = n
			}
			c.texts[i] = append(c.texts[i], n)
		}
	}
	c.alphabet = len(numbers)
	return c
}

func (c characters) Against(candidates []int) func(dst []float64, query int) {
	return func(dst []float64, query int) {
		l := c.scratch.Get().(*lcs)
		defer c.scratch.Put(l)
		l.set(c.texts[query], c.alphabet)
		for i, at := range candidates {
			y := c.texts[at]
			if total := len(c.texts[query]) + len(y); total == 0 {
				dst[i] = 1
			} else {
				dst[i] = 2 * float64(l.with(y)) / float64(total)
			}
		}
	}
}

// lcs finds the longest common subsequence of one text with others.
type lcs struct {
	words int      // of 64 positions of the text
	match []uint64 // character → positions where it stands
	row   []uint64
	used  []int32
}

func (l *lcs) set(x []int32, alphabet int) {
	for _, c := range l.used {
		clear(l.match[int(c)*l.words : (int(c)+1)*l.words])
	}
	words := (len(x) + 63) / 64
	if need := alphabet * words; len(l.match) < need {
		l.match = make([]uint64, need)
	}
	l.words, l.row = words, append(l.row[:0], make([]uint64, words)...)
	l.used = append(l.used[:0], x...)
	for i, c := range x {
		l.match[int(c)*words+i/64] |= 1 << (i % 64)
	}
}

// with is the length of the longest common subsequence with y.
func (l *lcs) with(y []int32) int {
	s := l.row
	for i := range s {
		s[i] = ^uint64(0)
	}
	for _, c := range y {
		m := l.match[int(c)*l.words : (int(c)+1)*l.words]
		carry := uint64(0)
		for i, v := range s {
			u := v & m[i]
			sum, over := bits.Add64(v, u, carry)
			s[i], carry = sum|(v&^u), over
		}
	}
	n := 0
	for _, v := range s { // positions beyond the text never match and stay 1
		n += bits.OnesCount64(^v)
	}
	return n
}
