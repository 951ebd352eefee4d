package index

import (
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// Cells is an exact index whose codes lie cell by cell, for queries that have
// another vector in each cell (local bridges). A search scans the cells it is
// told to and no others. It reads int8 codes of the vectors, a quarter of their
// bytes, and scores what may belong to the answer by the bound of their rounding
// again from the float32 vectors, which another index keeps. So the answer is
// that of a float32 scan, exactly.
//
// A vector takes Dim + about 40 bytes. Safe for concurrent use; a search sees
// each Add and Delete wholly or not at all.
type Cells struct {
	dim     int
	vectors func(id uint64) []float32

	mu    sync.RWMutex
	cells []cell
	place map[uint64]cellPlace
}

type cellPlace struct{ cell, slot uint32 }

// cell keeps its vectors dense: a deleted one is filled with the last.
type cell struct {
	ids   []uint64
	codes []int8    // [n × dim]
	scale []float32 // [n]
	lost  float64   // the largest of all vectors that were ever in the cell: see rounding
}

// NewCells makes an index of n empty cells for unit vectors of length dim, 1 to
// 65,536; else the error is ErrOptions. vectors returns the vector of an id that
// was added, nil for one it does not know; it must answer the same for every
// id from Add until Delete, is called from several goroutines, and must not call
// the Cells.
func NewCells(dim, n int, vectors func(id uint64) []float32) (*Cells, error) {
	if dim < 1 || dim > vec.MaxInt8Dim || n < 1 || n > MaxLen || vectors == nil {
		return nil, fmt.Errorf("%d cells of dimension %d: %w", n, dim, ErrOptions)
	}
	return &Cells{dim: dim, vectors: vectors, cells: make([]cell, n), place: map[uint64]cellPlace{}}, nil
}

// Dim is the length of the vectors.
func (x *Cells) Dim() int { return x.dim }

// Cells is the number of cells.
func (x *Cells) Cells() int { return len(x.cells) }

// Len is the number of vectors.
func (x *Cells) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.place)
}

// Bytes is the memory that codes and tables take.
func (x *Cells) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := 24 * len(x.place)
	for i := range x.cells {
		c := &x.cells[i]
		n += 8*cap(c.ids) + cap(c.codes) + 4*cap(c.scale)
	}
	return int64(n)
}

// Add takes ids into a cell. An id that is present already, in any cell, gets
// its present vector and the new cell. An id whose vector is unknown or of
// another length (*DimensionError), not finite (ErrNotFinite) or of length zero
// (ErrZeroVector) is refused, and then nothing of the call is taken in.
func (x *Cells) Add(at int, ids []uint64) error {
	if at < 0 || at >= len(x.cells) {
		return fmt.Errorf("cell %d of %d: %w", at, len(x.cells), ErrOptions)
	}
	d := x.dim
	codes, scale, lost := make([]int8, len(ids)*d), make([]float32, len(ids)), 0.0
	for i, id := range ids { // beside searches
		v, code := x.vectors(id), codes[i*d:(i+1)*d]
		if err := metrics[Cosine].checkRows(1, v, d); err != nil {
			return fmt.Errorf("vector %d: %w", id, err)
		}
		scale[i] = vec.QuantizeInt8(code, v)
		_, l := rounding(v, code, scale[i])
		lost = max(lost, l)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.place)+len(ids) > MaxLen {
		return fmt.Errorf("%d vectors and %d more: %w", len(x.place), len(ids), ErrFull)
	}
	c := &x.cells[at]
	for i, id := range ids {
		x.remove(id)
		x.place[id] = cellPlace{uint32(at), uint32(len(c.ids))}
		c.ids, c.scale = append(c.ids, id), append(c.scale, scale[i])
		c.codes = append(c.codes, codes[i*d:(i+1)*d]...)
	}
	c.lost = max(c.lost, lost)
	return nil
}

// Delete removes the ids that are present and returns how many were.
func (x *Cells) Delete(ids []uint64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, id := range ids {
		if x.remove(id) {
			n++
		}
	}
	return n
}

func (x *Cells) remove(id uint64) bool {
	p, ok := x.place[id]
	if !ok {
		return false
	}
	c, d := &x.cells[p.cell], x.dim
	slot, last := int(p.slot), len(c.ids)-1
	if slot != last {
		c.ids[slot], c.scale[slot] = c.ids[last], c.scale[last]
		copy(c.codes[slot*d:(slot+1)*d], c.codes[last*d:])
		x.place[c.ids[slot]] = p
	}
	c.ids, c.scale = c.ids[:last], c.scale[:last]
	c.codes = c.codes[:last*d]
	if last == 0 {
		*c = cell{}
	}
	delete(x.place, id)
	return true
}
