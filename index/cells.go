package index

import (
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// Cells is an exact index whose vectors lie cell by cell, for queries that have
// another vector in each cell (local bridges). A search scans the cells it is
// told to and no others. Vectors are kept at length 1, as float32 and as int8
// codes: the scan reads the codes, a quarter of the bytes, and what may belong
// to the answer by the bound of their rounding is scored again from the
// float32 vectors. So the answer is that of a float32 scan, exactly.
//
// A vector takes 5·Dim + about 40 bytes. Safe for concurrent use; a search
// sees each Add and Delete wholly or not at all.
type Cells struct {
	dim int

	mu    sync.RWMutex
	cells []cell
	place map[uint64]cellPlace
}

type cellPlace struct{ cell, slot uint32 }

// cell keeps its vectors dense: a deleted one is filled with the last.
type cell struct {
	ids   []uint64
	rows  []float32 // [n × dim]
	codes []int8    // [n × dim]
	scale []float32 // [n]
	// Of all vectors that were ever in the cell: the largest length of the
	// decoded codes, and of their difference from the vector.
	decoded, lost float64
}

// NewCells makes an index of n empty cells for vectors of length dim, 1 to
// 65,536; else the error is ErrOptions.
func NewCells(dim, n int) (*Cells, error) {
	if dim < 1 || dim > vec.MaxInt8Dim || n < 1 || n > MaxLen {
		return nil, fmt.Errorf("%d cells of dimension %d: %w", n, dim, ErrOptions)
	}
	return &Cells{dim: dim, cells: make([]cell, n), place: map[uint64]cellPlace{}}, nil
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

// Vector returns the unit vector of id, nil where it is absent. It is valid,
// and must not be changed, until the next Add or Delete.
func (x *Cells) Vector(id uint64) []float32 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p, ok := x.place[id]
	if !ok {
		return nil
	}
	return x.cells[p.cell].row(int(p.slot), x.dim)
}

// Bytes is the memory that the vectors and their tables take.
func (x *Cells) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := 24 * len(x.place)
	for i := range x.cells {
		c := &x.cells[i]
		n += 8*cap(c.ids) + 4*cap(c.rows) + cap(c.codes) + 4*cap(c.scale)
	}
	return int64(n)
}

// Add stores vectors, row-major [len(ids) × Dim], in a cell. An id that is
// present already, in any cell, gets the new vector and the new cell. What
// Index.Add refuses under the cosine metric is refused here, and then nothing
// is stored.
func (x *Cells) Add(at int, ids []uint64, vectors []float32) error {
	if at < 0 || at >= len(x.cells) {
		return fmt.Errorf("cell %d of %d: %w", at, len(x.cells), ErrOptions)
	}
	if err := metrics[Cosine].checkRows(len(ids), vectors, x.dim); err != nil {
		return err
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
		c.add(id, vectors[i*x.dim:(i+1)*x.dim])
	}
	return nil
}

func (c *cell) add(id uint64, v []float32) {
	d := len(v)
	c.ids = append(c.ids, id)
	c.rows = append(c.rows, v...)
	row := c.rows[len(c.rows)-d:]
	vec.Normalize(row)
	at := len(c.codes)
	for range d {
		c.codes = append(c.codes, 0)
	}
	codes := c.codes[at:]
	scale := vec.QuantizeInt8(codes, row)
	c.scale = append(c.scale, scale)
	decoded, lost := rounding(row, codes, scale)
	c.decoded, c.lost = max(c.decoded, decoded), max(c.lost, lost)
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
		copy(c.row(slot, d), c.row(last, d))
		copy(c.codes[slot*d:(slot+1)*d], c.codes[last*d:])
		x.place[c.ids[slot]] = p
	}
	c.ids, c.scale = c.ids[:last], c.scale[:last]
	c.rows, c.codes = c.rows[:last*d], c.codes[:last*d]
	if last == 0 {
		*c = cell{}
	}
	delete(x.place, id)
	return true
}

func (c *cell) row(i, dim int) []float32 { return c.rows[i*dim : (i+1)*dim : (i+1)*dim] }
