package tokens

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// TailBytes is how much lies in memory before it becomes a block.
const TailBytes = 32 << 20

// joined is how much a block has at most when blocks are joined.
const joined = 2 * TailBytes

// Files is where blocks are written: a file of a name with its sections is there as a
// whole, or not, and stays mapped.
type Files func(name string, write func(w *snapshot.Writer) error) (*snapshot.File, error)

// loose says whether the last block lies in the file of Save.
func (c *Codes) loose() bool {
	n := len(c.blocks)
	return n > 0 && c.blocks[n-1].name == ""
}

// Unsealed is how many bytes are in no block of their own.
func (c *Codes) Unsealed() int64 {
	n := c.bytes
	if c.loose() {
		n += c.blocks[len(c.blocks)-1].size()
	}
	return n
}

// Sealed is c with what is in memory, and in the file of Save, in a block of its own: the
// chunks that keep lets through; nil means all. Errors: those of f, ErrCorrupt, that of ctx.
// Cost: that of writing them.
func (c *Codes) Sealed(ctx context.Context, f Files, keep func(id uint64) bool) (*Codes, error) {
	if c.Unsealed() == 0 {
		return c, nil
	}
	whole := len(c.blocks)
	if c.loose() {
		whole--
	}
	var r run
	r.take(c, c.blocks[whole:], len(c.ids), keep)
	next := &Codes{blocks: slices.Clone(c.blocks[:whole]), gone: slices.Clone(c.gone[:whole])}
	if len(r.ids) == 0 {
		return next, nil
	}
	b, err := r.file(ctx, f)
	if err != nil {
		return nil, err
	}
	gone := 0
	if keep == nil {
		gone = c.dead
		if c.loose() {
			gone += c.gone[whole]
		}
	}
	next.blocks, next.gone = append(next.blocks, b), append(next.gone, gone)
	return next, nil
}

// file writes a block.
func (r *run) file(ctx context.Context, f Files) (*block, error) {
	name := newName()
	file, err := f(name, func(w *snapshot.Writer) error { return r.write(ctx, w) })
	if err != nil {
		return nil, err
	}
	return openBlock(name, file)
}

// Wasteful is the first block of which most chunks are gone, with those behind it that
// can be joined with it: its number and the end, which is not above it where there is none.
func (c *Codes) wasteful() (from, end int) {
	whole := len(c.blocks)
	if c.loose() {
		whole--
	}
	left := func(i int) int64 {
		b := c.blocks[i]
		return b.size() * int64(len(b.ids)-c.gone[i]) / int64(len(b.ids))
	}
	for from = range whole {
		if 2*c.gone[from] <= len(c.blocks[from].ids) {
			continue
		}
		sum := left(from)
		for end = from + 1; end < whole && sum+left(end) <= joined; end++ {
			sum += left(end)
		}
		return from, end
	}
	return 0, 0
}

// Wasteful says whether there is a block of which most chunks are gone.
func (c *Codes) Wasteful() bool {
	from, end := c.wasteful()
	return from < end
}

// Compacted is c without the chunks that keep does not let through in the first block of
// which most are gone; small blocks behind it are joined with it. Errors as those of Sealed.
func (c *Codes) Compacted(ctx context.Context, f Files, keep func(id uint64) bool) (*Codes, error) {
	from, end := c.wasteful()
	if from == end {
		return c, nil
	}
	var r run
	r.take(c, c.blocks[from:end], 0, keep)
	var fresh []*block
	if len(r.ids) > 0 {
		b, err := r.file(ctx, f)
		if err != nil {
			return nil, err
		}
		fresh = []*block{b}
	}
	next := *c
	next.blocks = slices.Concat(c.blocks[:from], fresh, c.blocks[end:])
	next.gone = slices.Concat(c.gone[:from], make([]int, len(fresh)), c.gone[end:])
	return &next, nil
}

// Rebase brings what Sealed or Compacted made of base to c, which commits have made of
// base meanwhile; live says which chunks are still there. ok is false where c is another's.
// Cost: a look at each chunk of the new blocks.
func (c *Codes) Rebase(base, fresh *Codes, live func(id uint64) bool) (next *Codes, ok bool) {
	if !slices.Equal(c.blocks, base.blocks) || len(c.ids) < len(base.ids) || !slices.Equal(c.ids[:len(base.ids)], base.ids) {
		return c, false
	}
	next = &Codes{blocks: fresh.blocks, gone: make([]int, len(fresh.blocks))}
	for i, b := range fresh.blocks {
		if at := slices.Index(c.blocks, b); at >= 0 {
			next.gone[i] = c.gone[at]
			continue
		}
		for _, id := range b.ids {
			if !live(id) {
				next.gone[i]++
			}
		}
	}
	n := len(base.ids) - len(fresh.ids) // that are in blocks now
	next.ids, next.codes = slices.Clone(c.ids[n:]), slices.Clone(c.codes[n:])
	for i, codes := range next.codes {
		next.bytes += int64(len(codes))
		if !live(next.ids[i]) {
			next.dead++
		}
	}
	return next, true
}

// Names are those of the files of c's blocks.
func (c *Codes) Names() (names []string) {
	for _, b := range c.blocks {
		if b.name != "" {
			names = append(names, b.name)
		}
	}
	return names
}

// String is for messages of tests.
func (c *Codes) String() string {
	return fmt.Sprintf("%d blocks, %d chunks in memory", len(c.blocks), len(c.ids))
}
