package local

import (
	"context"
	"math/rand/v2"
)

// Verify checks everything that is in a file: that cells and the table of passages agree, and
// that the directory has the tokens of the cells. Recount compares cells with their passages.
// Errors: modulate.ErrCorrupt, that of ctx within a cell. Cost: one read of the cells, and a
// lookup for each passage.
func (b *Bridges) Verify(ctx context.Context) error {
	n, count := 0, newTokenCount(b.words.vocab())
	for i, s := range b.cells {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c, err := guarded(func() (c *cell, err error) {
			if c = s.loaded.Load(); c == nil {
				c, err = s.at.read(s, b.dim, b.vocab)
			}
			if err != nil {
				return nil, err
			}
			return c, count.add(i, c)
		})
		if err != nil {
			return err
		}
		for _, id := range c.ids {
			if at, ok := b.Cell(id); !ok || at != i {
				return corrupt("passage %d of cell %d is in cell %d of the table (%v)", id, i, at, ok)
			}
		}
		n += len(c.ids)
	}
	if n != b.n {
		return corrupt("cells of %d passages where there are %d", n, b.n)
	}
	if b.words.file != nil {
		if _, err := guarded(func() (struct{}, error) { return struct{}{}, b.words.file.Verify(ctx) }); err != nil {
			return err
		}
	}
	return count.compare(ctx, &b.words)
}

// tokenCount holds statistics of the cells' tokens: the passages of each, and the sum of a
// random number for each of its cells.
type tokenCount struct {
	key   uint64
	df    []int
	cells []uint64
}

func newTokenCount(vocab int) *tokenCount {
	return &tokenCount{rand.Uint64(), make([]int, vocab), make([]uint64, vocab)}
}

// mark is a number that identifies a cell.
func (k *tokenCount) mark(cell int) uint64 {
	x := (k.key ^ uint64(cell)) * 0x9E3779B97F4A7C15
	return (x ^ x>>29) * 0xBF58476D1CE4E5B9
}

// add counts a cell. The directory has no token above its highest, although a vocabulary may
// grow.
func (k *tokenCount) add(at int, c *cell) error {
	for i, t := range c.tokens {
		if int(t) >= len(k.df) {
			return corrupt("cell %d has token %d, the directory those below %d", at, t, len(k.df))
		}
		k.df[t] += c.count(i)
		k.cells[t] += k.mark(at)
	}
	return nil
}

func (k *tokenCount) compare(ctx context.Context, d *directory) error {
	for t := range k.df {
		if t%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		list, err := guarded(func() ([]uint32, error) { return d.cells(int32(t)) })
		if err != nil {
			return err
		}
		var sum uint64
		for _, c := range list {
			sum += k.mark(int(c))
		}
		if n := d.count(int32(t)); n != k.df[t] || sum != k.cells[t] {
			return corrupt("the directory has token %d in %d passages of %d cells, the cells in %d", t, n, len(list), k.df[t])
		}
	}
	return nil
}
