// Package tokens keeps the codes of token states (package late) by chunk, as searches read them. Start with
// [Codes.Get]; [Codes.Next] makes the Codes of the next commit. Codes never change and are safe for
// concurrent use. Those of recent commits are in memory, older ones in mapped blocks, each a file that is
// written once. The rows of the store are the truth. Damage is ErrCorrupt.
package tokens

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/chunk"
)

// ErrCorrupt answers reading what is damaged where it lies, or does not fit together.
var ErrCorrupt = errors.New("codes of token states are damaged")

// Codes are the codes of the chunks of a state, as far as these have some. It never
// changes; Next makes the one behind a commit. Chunks that are gone stay for a while:
// nobody asks for them. Safe for concurrent use.
type Codes struct {
	// Chunks lie in the order of their ids (chunk.Compare), which is that of commits:
	// first those of the blocks, then those in memory.
	blocks []*block
	gone   []int // chunks of each block that are gone

	ids   []uint64
	codes [][]byte
	bytes int64 // of codes in memory
	dead  int   // chunks in memory that are gone
}

// New is of no chunks.
func New() *Codes { return &Codes{} }

// Chunk is a chunk with its codes.
type Chunk struct {
	ID    uint64
	Codes []byte // kept, not copied
}

// Next is c behind a commit in which chunks came and went. Those that came are in the
// order of their ids, behind all that c ever had; such without codes are left out. Cost: that of the
// change. What is made of one c shares its memory: of two, the one made first is to be
// given up.
func (c *Codes) Next(came []Chunk, gone []uint64) (*Codes, error) {
	next := *c
	for _, id := range gone {
		if i, ok := next.blockOf(id); ok && next.blocks[i].has(id) {
			if next.shares(c) {
				next.gone = slices.Clone(c.gone)
			}
			next.gone[i]++
		} else if _, ok := slices.BinarySearchFunc(c.ids, id, chunk.Compare); ok {
			next.dead++
		}
	}
	for _, v := range came {
		if len(v.Codes) == 0 {
			continue
		}
		if last, any := next.last(); any && chunk.Compare(v.ID, last) <= 0 {
			return nil, fmt.Errorf("%w: chunk %d of version %d comes behind version %d", ErrCorrupt, chunk.Number(v.ID), chunk.Ord(v.ID), chunk.Ord(last))
		}
		next.ids, next.codes = append(next.ids, v.ID), append(next.codes, v.Codes)
		next.bytes += int64(len(v.Codes))
	}
	return &next, nil
}

// shares says whether the numbers of what is gone are those of another.
func (c *Codes) shares(o *Codes) bool {
	return len(c.gone) > 0 && len(o.gone) > 0 && &c.gone[0] == &o.gone[0]
}

// last is the last chunk.
func (c *Codes) last() (id uint64, any bool) {
	if n := len(c.ids); n > 0 {
		return c.ids[n-1], true
	}
	if n := len(c.blocks); n > 0 {
		return c.blocks[n-1].last(), true
	}
	return 0, false
}

// blockOf is the block in which a chunk stands if it is in any.
func (c *Codes) blockOf(id uint64) (int, bool) {
	i, _ := slices.BinarySearchFunc(c.blocks, id, func(b *block, id uint64) int { return chunk.Compare(b.last(), id) })
	return i, i < len(c.blocks)
}

// Get returns the codes of a chunk, nil where it has none. They are valid as long as the
// state is in use. Errors: ErrCorrupt. Cost: two binary searches, and a checksum for each block
// of the file that is read for the first time.
func (c *Codes) Get(id uint64) ([]byte, error) {
	if i, ok := c.blockOf(id); ok {
		return c.blocks[i].get(id)
	}
	if i, ok := slices.BinarySearchFunc(c.ids, id, chunk.Compare); ok {
		return c.codes[i], nil
	}
	return nil, nil
}

// Len is how many chunks have codes, without those that are gone.
func (c *Codes) Len() (n int) {
	if c == nil {
		return 0
	}
	for i, b := range c.blocks {
		n += len(b.ids) - c.gone[i]
	}
	return n + len(c.ids) - c.dead
}

// Bytes are what they take, in files that are mapped and in memory.
func (c *Codes) Bytes() (mapped, memory int64) {
	for _, b := range c.blocks {
		mapped += b.size()
	}
	return mapped, c.bytes + int64(len(c.ids))*(8+24)
}
