package tokens

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Kind is the name of the file that Save writes.
const Kind = "tokens"

// maxBlocks bounds the number of blocks that a file may name.
const maxBlocks = 1 << 20

// Save writes the list of c's blocks, and the chunks that are in none of their own as far as
// keep lets them through. Cost: Unsealed bytes. Errors: ErrCorrupt, those of w, that of ctx.
func (c *Codes) Save(ctx context.Context, w *snapshot.Writer, keep func(id uint64) bool) error {
	whole := len(c.blocks)
	if c.loose() {
		whole--
	}
	w.Begin(sectionHead)
	w.U32(version)
	w.U32(uint32(whole))
	for i, b := range c.blocks[:whole] {
		w.Text(b.name)
		w.U64(uint64(len(b.ids)))
		w.U64(uint64(c.gone[i]))
	}
	var r run
	r.take(c, c.blocks[whole:], len(c.ids), keep)
	return r.write(ctx, w)
}

// Open reads what Save wrote; block opens the file of a block. limit is above the ordinals of all chunks. Errors:
// ErrCorrupt, and those of block. Cost: 16 bytes a chunk are read.
func Open(f *snapshot.File, limit uint64, block func(name string) (*snapshot.File, error)) (*Codes, error) {
	s, err := f.Section(sectionHead)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r := s.Reader()
	v, n := r.U32(), r.U32()
	if r.Err() == nil && (v != version || n > maxBlocks) {
		r.Fail("version %d with %d blocks", v, n)
	}
	c := New()
	for range n {
		name, chunks, gone := r.Text(), r.U64(), r.U64()
		if r.Err() != nil {
			break
		}
		if BlockName(name+".snap") != name || strings.ContainsAny(name, `/\`) || slices.Contains(c.Names(), name) {
			return nil, fmt.Errorf("%w: a block of the name %.40q", ErrCorrupt, name)
		}
		file, err := block(name)
		if err != nil {
			return nil, err
		}
		b, err := openBlock(name, file)
		if err != nil {
			return nil, err
		}
		if uint64(len(b.ids)) != chunks || gone > chunks || chunks == 0 {
			return nil, fmt.Errorf("%w: block %s has %d chunks of %d, %d of them gone", ErrCorrupt, name, len(b.ids), chunks, gone)
		}
		if err := c.push(b, int(gone)); err != nil {
			return nil, err
		}
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	own, err := openBlock("", f)
	if err != nil {
		return nil, err
	}
	if len(own.ids) > 0 {
		if err := c.push(own, 0); err != nil {
			return nil, err
		}
	}
	if last, any := c.last(); any && chunk.Ord(last) >= limit {
		return nil, fmt.Errorf("%w: version %d, where all are below %d", ErrCorrupt, chunk.Ord(last), limit)
	}
	return c, nil
}

// push adds a block behind the others.
func (c *Codes) push(b *block, gone int) error {
	if last, any := c.last(); any && chunk.Compare(b.ids[0], last) <= 0 {
		return fmt.Errorf("%w: block %q begins before the end of the one before", ErrCorrupt, b.name)
	}
	c.blocks, c.gone = append(c.blocks, b), append(c.gone, gone)
	return nil
}

// Verify checks all codes that lie in files against their checksums. Errors: ErrCorrupt, that of ctx.
func (c *Codes) Verify(ctx context.Context) error {
	for _, b := range c.blocks {
		if err := b.codes.Verify(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return nil
}
