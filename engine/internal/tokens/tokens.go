// Package tokens records which chunks have codes of token states (package late), and their sizes. The codes
// themselves are stored only in the rows of the store, where searches read them: store.View.Codes. Start with
// [List.Has]; [List.Next] makes the List of the next commit. Lists never change and are safe for concurrent use.
//
// Older programs kept a copy of the codes in mapped blocks next to the store. It made a search a little
// faster (some 10 µs a passage) and doubled the largest part of a database.
package tokens

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/chunk"
)

// ErrCorrupt is the error for a list that is damaged or contradicts itself.
var ErrCorrupt = errors.New("list of token states is damaged")

// List lists the chunks of a state that have codes. It never changes; Next makes the list after a commit.
// Removed chunks stay for a while, since nothing looks them up. Safe for concurrent use.
type List struct {
	ids   []uint64 // in the order of chunk.Compare, which is that of commits
	sizes []uint32 // bytes of the codes of each
	n     int      // of ids, without those that are gone
	bytes int64    // of their codes
	loose bool     // n and bytes may count chunks that are gone
}

// New returns a list without chunks.
func New() *List { return &List{} }

// Chunk is a chunk with the size of its codes in bytes, 0 for none.
type Chunk struct {
	ID    uint64
	Bytes int
}

// Next is l after a commit that adds and removes chunks. Added chunks are in the order of their ids, after all
// that l ever had. Cost: proportional to the change. Lists made from one l share its memory: if two are made,
// the first must be dropped. Error: ErrCorrupt for chunks out of order.
func (l *List) Next(came []Chunk, gone []uint64) (*List, error) {
	next := *l
	for _, id := range gone {
		if size := l.Bytes(id); size > 0 {
			next.n--
			next.bytes -= int64(size)
		}
	}
	for _, c := range came {
		if c.Bytes == 0 {
			continue
		}
		if err := next.push(c.ID, uint32(c.Bytes)); err != nil {
			return nil, err
		}
	}
	return &next, nil
}

// push adds a chunk at the end.
func (l *List) push(id uint64, size uint32) error {
	if n := len(l.ids); n > 0 && chunk.Compare(id, l.ids[n-1]) <= 0 {
		last := l.ids[n-1]
		return fmt.Errorf("%w: chunk %d of version %d comes after chunk %d of version %d", ErrCorrupt, chunk.Number(id), chunk.Ord(id), chunk.Number(last), chunk.Ord(last))
	}
	if size == 0 {
		return fmt.Errorf("%w: chunk %d of version %d has no codes", ErrCorrupt, chunk.Number(id), chunk.Ord(id))
	}
	l.ids, l.sizes = append(l.ids, id), append(l.sizes, size)
	l.n++
	l.bytes += int64(size)
	return nil
}

// Wasteful reports whether most chunks are gone.
func (l *List) Wasteful() bool { return len(l.ids) > 2*l.n+1024 }

// Only returns l with only the chunks for which sees is true. It looks at every chunk.
func (l *List) Only(sees func(id uint64) bool) *List {
	next := &List{ids: make([]uint64, 0, l.n), sizes: make([]uint32, 0, l.n)}
	for i, id := range l.ids {
		if sees(id) {
			next.ids, next.sizes = append(next.ids, id), append(next.sizes, l.sizes[i])
			next.bytes += int64(l.sizes[i])
		}
	}
	next.n = len(next.ids)
	return next
}

// Loose reports whether l was read from a file that does not record which chunks are removed.
func (l *List) Loose() bool { return l.loose }

// Bytes is the size of a chunk's codes, 0 for none. Cost: a binary search.
func (l *List) Bytes(id uint64) int {
	if i, ok := slices.BinarySearchFunc(l.ids, id, chunk.Compare); ok {
		return int(l.sizes[i])
	}
	return 0
}

// Has reports whether a chunk has codes.
func (l *List) Has(id uint64) bool { return l.Bytes(id) > 0 }

// Len returns how many chunks have codes.
func (l *List) Len() int { return l.n }

// Stored is the size of all codes in the store, in bytes.
func (l *List) Stored() int64 { return l.bytes }

// Memory returns how many bytes l takes.
func (l *List) Memory() int64 { return int64(len(l.ids)) * (8 + 4) }
