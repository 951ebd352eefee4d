package tokens

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Kind is the name of the file that Save writes.
const Kind = "tokens"

// version of the sections that Save writes. Version 1 also has codes, in this file and in blocks that it names;
// each block is a file with the sections of ids and ends.
const (
	version = 2
	blocks  = 1
)

// Sections. In version 1 the head also has: number of blocks u32, and for each its name, its chunks and its removed
// chunks, u64 each.
const (
	sectionHead  = "tk.head"  // version u32
	sectionIDs   = "tk.ids"   // u64: ids of chunks, by ordinal and chunk number, also across files
	sectionSizes = "tk.sizes" // u32: bytes of the codes of each
	sectionEnds  = "tk.ends"  // u64, version 1: where the codes of each end
)

// maxBlocks bounds the number of blocks that a file may name.
const maxBlocks = 1 << 20

// BlockName is the name of a block in the path of its file, "" for other files.
func BlockName(path string) string {
	name, ok := strings.CutSuffix(filepath.Base(path), ".snap")
	if !ok || !strings.HasPrefix(name, Kind+"-") || len(name) != len(Kind)+1+16 || strings.ContainsAny(name, `/\`) {
		return ""
	}
	return name
}

// Save writes the chunks for which sees is true. Errors are those of w.
func (l *List) Save(w *snapshot.Writer, sees func(id uint64) bool) error {
	l = l.Only(sees)
	w.Begin(sectionHead)
	w.U32(version)
	w.Begin(sectionIDs)
	w.Uint64s(l.ids)
	w.Begin(sectionSizes)
	w.Uint32s(l.sizes)
	return nil
}

// Open reads a list that Save wrote; block opens the file of a block, for version 1. limit is above the ordinals
// of all chunks. Errors: ErrCorrupt, and those of block. Cost: 12 bytes a chunk are read.
func Open(f *snapshot.File, limit uint64, block func(name string) (*snapshot.File, error)) (*List, error) {
	l, err := open(f, block)
	if err != nil {
		return nil, err
	}
	if n := len(l.ids); n > 0 && chunk.Ord(l.ids[n-1]) >= limit {
		return nil, fmt.Errorf("%w: version %d, where all are below %d", ErrCorrupt, chunk.Ord(l.ids[n-1]), limit)
	}
	return l, nil
}

func open(f *snapshot.File, block func(name string) (*snapshot.File, error)) (*List, error) {
	s, err := f.Section(sectionHead)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	l, r := New(), s.Reader()
	switch v := r.U32(); {
	case r.Err() != nil:
	case v == version:
		if err := l.read(f, sectionSizes); err != nil {
			return nil, err
		}
	case v == blocks:
		l.loose = true
		n := r.U32()
		if n > maxBlocks {
			r.Fail("%d blocks", n)
		}
		for range n {
			name := r.Text()
			r.U64() // chunks
			r.U64() // of these, gone
			if r.Err() != nil {
				break
			}
			if BlockName(name+".snap") != name {
				return nil, fmt.Errorf("%w: a block of the name %.40q", ErrCorrupt, name)
			}
			file, err := block(name)
			if err != nil {
				return nil, err
			}
			err = l.read(file, sectionEnds)
			if e := file.Close(); err == nil {
				err = e
			}
			if err != nil {
				return nil, err
			}
		}
		if r.Err() == nil {
			if err := l.read(f, sectionEnds); err != nil {
				return nil, err
			}
		}
	default:
		r.Fail("version %d", v)
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return l, nil
}

// read appends the chunks of a file to l; numbers is the section of their sizes, or ends.
func (l *List) read(f *snapshot.File, numbers string) error {
	ids, err := f.Section(sectionIDs)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	of, err := f.Section(numbers)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r, s := ids.Reader(), of.Reader()
	size, end := func() uint64 { return uint64(s.U32()) }, uint64(0)
	if numbers == sectionEnds {
		size = func() uint64 {
			before := end
			end = s.U64()
			return end - before
		}
	}
	for r.Len() > 0 {
		id, n := r.U64(), size()
		if r.Err() != nil || s.Err() != nil {
			break
		}
		if n > 1<<31 {
			return fmt.Errorf("%w: chunk %d of version %d has %d bytes", ErrCorrupt, chunk.Number(id), chunk.Ord(id), n)
		}
		if err := l.push(id, uint32(n)); err != nil {
			return err
		}
	}
	for _, r := range []*snapshot.Reader{r, s} {
		if err := r.Done(); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return nil
}
