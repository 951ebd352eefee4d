package tokens

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Kind is the name of the file that Save writes.
const Kind = "tokens"

// version of the sections that Save writes.
const version = 2

// Sections.
const (
	sectionHead  = "tk.head"  // version u32
	sectionIDs   = "tk.ids"   // u64: ids of chunks, by ordinal and chunk number
	sectionSizes = "tk.sizes" // u32: bytes of the codes of each
)

// BlockName is the name of a block of codes, which older programs kept, in the path of its file, "" for other files.
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

// Open reads a list that Save wrote. limit is above the ordinals of all chunks. Error: ErrCorrupt, also for the list of
// an older program. Cost: 12 bytes a chunk are read.
func Open(f *snapshot.File, limit uint64) (*List, error) {
	l, err := open(f)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	if n := len(l.ids); n > 0 && chunk.Ord(l.ids[n-1]) >= limit {
		return nil, fmt.Errorf("%w: version %d, where all are below %d", ErrCorrupt, chunk.Ord(l.ids[n-1]), limit)
	}
	return l, nil
}

func open(f *snapshot.File) (*List, error) {
	var of [3]*snapshot.Reader
	for i, tag := range []string{sectionHead, sectionIDs, sectionSizes} {
		s, err := f.Section(tag)
		if err != nil {
			return nil, err
		}
		of[i] = s.Reader()
		if i > 0 {
			continue
		}
		if v := of[0].U32(); v != version {
			return nil, fmt.Errorf("version %d of the list, where %d is read", v, version)
		}
	}
	head, ids, sizes := of[0], of[1], of[2]
	l := New()
	for ids.Len() > 0 {
		id, n := ids.U64(), sizes.U32()
		if ids.Err() != nil || sizes.Err() != nil {
			break
		}
		if n > 1<<31 {
			return nil, fmt.Errorf("chunk %d of version %d has %d bytes", chunk.Number(id), chunk.Ord(id), n)
		}
		if err := l.push(id, n); err != nil {
			return nil, err
		}
	}
	return l, errors.Join(head.Done(), ids.Done(), sizes.Done())
}
