package tokens

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// version of the sections below.
const version = 1

// Sections of a block, and of the codes that Save writes beside the list of blocks.
const (
	sectionHead  = "tk.head"
	sectionIDs   = "tk.ids"
	sectionEnds  = "tk.ends"
	sectionCodes = "tk.codes"
)

// block is some chunks in a file that is mapped.
type block struct {
	name  string // of its file; "" for those that lie in the file of Save
	ids   []uint64
	ends  []uint64 // where the codes of each end
	codes *snapshot.Section
}

// blockPrefix begins the names of the files of blocks, and the kinds in their headers.
const blockPrefix = Kind + "-"

// newName is one that no block ever had.
func newName() string {
	var b [8]byte
	rand.Read(b[:]) // documented never to fail
	return fmt.Sprintf("%s%016x", blockPrefix, binary.BigEndian.Uint64(b[:]))
}

// BlockName is the name in a path of the file of a block, "" for other files.
func BlockName(path string) string {
	name, ok := strings.CutSuffix(filepath.Base(path), ".snap")
	if !ok || !strings.HasPrefix(name, blockPrefix) || len(name) != len(blockPrefix)+16 {
		return ""
	}
	return name
}

func (b *block) last() uint64 { return b.ids[len(b.ids)-1] }

func (b *block) has(id uint64) bool {
	_, ok := slices.BinarySearchFunc(b.ids, id, chunk.Compare)
	return ok
}

func (b *block) size() int64 { return int64(len(b.ids))*16 + int64(b.codes.Len()) }

func (b *block) get(id uint64) ([]byte, error) {
	i, ok := slices.BinarySearchFunc(b.ids, id, chunk.Compare)
	if !ok {
		return nil, nil
	}
	return b.at(i)
}

func (b *block) at(i int) ([]byte, error) {
	from := uint64(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	codes, err := b.codes.Bytes(int(from), int(b.ends[i]-from))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return codes, nil
}

// openBlock reads the chunks of a file. Codes are checked when they are first read.
func openBlock(name string, f *snapshot.File) (*block, error) {
	var all [3]*snapshot.Section
	for i, tag := range []string{sectionIDs, sectionEnds, sectionCodes} {
		s, err := f.Section(tag)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		all[i] = s
	}
	n := all[0].Len() / 8
	ids, ends := all[0].Reader().Uint64s(n), all[1].Reader().Uint64s(n)
	if len(ids) != n || len(ends) != n || all[0].Len() != 8*n || all[1].Len() != 8*n {
		return nil, fmt.Errorf("%w: %d bytes of ids and %d of their ends", ErrCorrupt, all[0].Len(), all[1].Len())
	}
	b := &block{name: name, ids: ids, ends: ends, codes: all[2]}
	for i := range n {
		if i > 0 && (chunk.Compare(ids[i-1], ids[i]) >= 0 || ends[i-1] > ends[i]) {
			return nil, fmt.Errorf("%w: chunk %d of a block is out of order", ErrCorrupt, i)
		}
	}
	if end := uint64(b.codes.Len()); n == 0 && end > 0 || n > 0 && ends[n-1] != end {
		return nil, fmt.Errorf("%w: %d bytes of codes of %d chunks", ErrCorrupt, end, n)
	}
	return b, nil
}

// run are chunks in order, from several places.
type run struct {
	ids []uint64
	get []func() ([]byte, error)
}

// take adds what keep lets through of some blocks, and of the first n chunks in memory.
func (r *run) take(c *Codes, blocks []*block, n int, keep func(id uint64) bool) {
	for _, b := range blocks {
		for i, id := range b.ids {
			if keep == nil || keep(id) {
				r.ids, r.get = append(r.ids, id), append(r.get, func() ([]byte, error) { return b.at(i) })
			}
		}
	}
	for i, id := range c.ids[:n] {
		if keep == nil || keep(id) {
			codes := c.codes[i]
			r.ids, r.get = append(r.ids, id), append(r.get, func() ([]byte, error) { return codes, nil })
		}
	}
}

// look is how many chunks are written between two looks at the context.
const look = 64

// write writes the sections of a block.
func (r *run) write(ctx context.Context, w *snapshot.Writer) error {
	w.Begin(sectionIDs)
	w.Uint64s(r.ids)
	w.Begin(sectionCodes)
	ends, end := make([]uint64, len(r.ids)), uint64(0)
	for i, get := range r.get {
		if i%look == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		codes, err := get()
		if err != nil {
			return err
		}
		if _, err := w.Write(codes); err != nil {
			return err
		}
		end += uint64(len(codes))
		ends[i] = end
	}
	w.Begin(sectionEnds)
	w.Uint64s(ends)
	return nil
}
