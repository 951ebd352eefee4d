package local

import (
	"slices"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
)

// cell is a cell: its passages, codes of their vectors, and the regression over
// them. It never changes.
type cell struct {
	ids []uint64 // ascending; the position of a passage is its slot

	codes []int8    // of the vectors [n × d]
	scale []float32 // [n]
	lost  float64   // the most that a vector's codes have lost: see vec.LostInt8

	h      []int8    // codes of h_p [n × d]
	hScale []float32 // [n]

	// The tokens: first those with a row, then the others, both ascending. The passages
	// with token i are slots[starts[i]:starts[i+1]].
	tokens []uint32
	starts []uint32 // [tokens + 1]
	slots  []uint32

	rows     []int8    // Σ_{p∋t} h_p [rows × d]
	rowScale []float32 // [rows]

	idf []float32 // of a token of that many passages [n + 1]; 0 for one of all

	tabled, listed lookup // of the tokens that have a row, and of the others
}

// complete fills in idf, tabled and listed.
func (c *cell) complete() {
	rows := len(c.rowScale)
	c.tabled, c.listed = lookupOf(c.tokens[:rows]), lookupOf(c.tokens[rows:])
	c.idf = make([]float32, len(c.ids)+1)
	for n := range len(c.ids) {
		c.idf[n] = float32(ridge.IDF(len(c.ids), n))
	}
}

// find is the position of token t among the tokens.
func (c *cell) find(t uint32) (int, bool) {
	if i, ok := c.tabled.find(t); ok {
		return i, true
	}
	i, ok := c.listed.find(t)
	return len(c.rowScale) + i, ok
}

// count is the number of passages with token i.
func (c *cell) count(i int) int { return int(c.starts[i+1] - c.starts[i]) }

// shift adds weight · Σ_{p∋t} h_p to q for token i.
func (c *cell) shift(q []float32, i int, weight float32) {
	d := len(q)
	if i < len(c.rowScale) {
		vec.AxpyInt8(q, weight*c.rowScale[i], c.rows[i*d:][:d])
		return
	}
	for _, s := range c.slots[c.starts[i]:c.starts[i+1]] {
		vec.AxpyInt8(q, weight*c.hScale[s], c.h[int(s)*d:][:d])
	}
}

// prefetch prefetches the data of token i that shift reads first.
func (c *cell) prefetch(i, d int) {
	if i < len(c.rowScale) {
		vec.Prefetch(c.rows[i*d:], d)
		return
	}
	if from := c.starts[i]; from < c.starts[i+1] {
		vec.Prefetch(c.h[int(c.slots[from])*d:], d)
	}
}

// members returns the passages with their tokens.
func (c *cell) members() []member {
	counts := make([]int, len(c.ids))
	for _, s := range c.slots {
		counts[s]++
	}
	all := make([]uint32, len(c.slots))
	out := make([]member, len(c.ids))
	for s, n := range counts {
		out[s] = member{c.ids[s], all[:0:n]}
		all = all[n:]
	}
	for i, t := range c.tokens {
		for _, s := range c.slots[c.starts[i]:c.starts[i+1]] {
			out[s].tokens = append(out[s].tokens, t)
		}
	}
	for s := range out {
		slices.Sort(out[s].tokens)
	}
	return out
}

// member is a passage.
type member struct {
	id     uint64
	tokens []uint32 // ascending
}

// slot holds a cell, which may stay in a file until its first use.
type slot struct {
	n, rows, tokens, slots int
	loaded                 atomic.Pointer[cell]
	at                     *record // nil for one in memory
}

func newSlot(c *cell) *slot {
	s := &slot{n: len(c.ids), rows: len(c.rowScale), tokens: len(c.tokens), slots: len(c.slots)}
	s.loaded.Store(c)
	return s
}

// cell returns cell i, which must exist. It returns an error if the file is damaged.
func (b *Bridges) cell(i int) (*cell, error) {
	s := b.cells[i]
	if c := s.loaded.Load(); c != nil {
		return c, nil
	}
	c, err := s.at.read(s, b.dim, b.vocab)
	if err != nil {
		return nil, err
	}
	s.loaded.Store(c)
	return c, nil
}
