// Package local has local bridges (rlr-local): one RLR for each cell of about 250 passages, and the search
// over the cells. A query gets a vector for each cell, which scores only the passages of that cell.
// docs/method.md has the equations. Start with [Build] or [Open], then [Bridges.Probe], [Bridges.Modulate]
// and [Bridges.Search].
//
// What holds: Bridges never change, so queries are safe for concurrent use and never wait. Edit makes the
// next version and fits only the cells that it changes; a version gives the same answers, bit for bit, as
// one that is fitted anew in the same cells. Search gives exactly the same answers as a float32 scan of the
// probed cells. The cost of a query is a few rows for each token and cell, never O(d²). Damage in a
// snapshot is an ErrCorrupt of package modulate.
package local

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Options configure Bridges. The zero value of each field means its default.
type Options struct {
	// Beta is how much the shift adds to the score of a passage with every token of the query, in (0, 10].
	// 0 means 0.8 up to 10,000 passages and 1 from 20,000 on, rising in between with the logarithm of their
	// number.
	Beta float64
	// Lambda is the ridge of each cell, in [1e-6, 1e9]; 0 means 0.15.
	Lambda float64
	// TableFrom is the minimum number of a cell's passages with a token for which the token's sum is
	// stored, at least 1; 0 means 6. A smaller one makes queries faster and tables larger.
	TableFrom int
	// Cells is the number of cells that Build and Repartition make, at most one a passage; 0 means
	// CellsFor the number of passages.
	Cells int
	// Seed is the seed of the partition.
	Seed uint64
	// Workers returns how many goroutines may make cells, at least 1; nil means one. It is called from
	// several goroutines, when work begins and again before each cell or block of vectors, and
	// goroutines end when it returns fewer. It does not change the result.
	Workers func() int
}

func (o Options) withDefaults() (Options, error) {
	o.Lambda = cmp.Or(o.Lambda, 0.15)
	o.TableFrom = cmp.Or(o.TableFrom, 6)
	if o.Workers == nil {
		o.Workers = one
	}
	if !(o.Beta >= 0 && o.Beta <= 10) || !(o.Lambda >= 1e-6 && o.Lambda <= 1e9) || o.TableFrom < 1 || o.TableFrom > math.MaxInt32 || o.Cells < 0 {
		return o, fmt.Errorf("%w: local bridges with beta %v, lambda %v, tables from %d passages, %d cells; beta is in (0, 10], lambda in [1e-6, 1e9], the others from 1",
			modulate.ErrOptions, o.Beta, o.Lambda, o.TableFrom, o.Cells)
	}
	return o, nil
}

func one() int { return 1 }

// defaultBeta is β for n passages: with more passages, more of them are as near in meaning without having
// the words.
func defaultBeta(n int) float64 {
	return 0.8 + 0.2*min(max(math.Log2(float64(n)/10000), 0), 1)
}

// Bridges are the local bridges of a set of passages. They are immutable and safe for concurrent use. Edit
// makes the next version, which shares all unchanged cells. Every version gives the same answers, bit for
// bit, as one fitted anew to the same passages in the same cells.
//
// They store the tokens of passages and int8 codes of their vectors. They read the vectors through a
// function, for fitting cells and for exact scores.
type Bridges struct {
	o          Options
	dim, vocab int
	vectors    func(id uint64) []float32
	partition  *partition
	cells      []*slot
	n          int
	places     places
	words      directory
	mapped     bool // some cells may lie in a file
}

// maxVocab limits the size of a vocabulary.
const maxVocab = math.MaxInt32

// New returns bridges without passages, in one cell, for unit vectors of length dim, 1 to 65,536, and a
// vocabulary of vocab tokens, 0 for one that grows. vectors returns the unit vector of a passage, nil for
// an unknown one. It must return the same vector as long as bridges with the passage are used, and be safe
// for concurrent use. ErrOptions for values out of range.
func New(dim, vocab int, vectors func(id uint64) []float32, o Options) (*Bridges, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if dim < 1 || dim > vec.MaxInt8Dim || vocab < 0 || vocab > maxVocab || vectors == nil {
		return nil, fmt.Errorf("%w: local bridges need vectors, of 1 to %d numbers, and a vocabulary, got %d and %d", modulate.ErrOptions, vec.MaxInt8Dim, dim, vocab)
	}
	return &Bridges{
		o: o, dim: dim, vocab: vocab, vectors: vectors,
		partition: oneCell(dim), cells: []*slot{newSlot(&cell{})}, words: newDirectory(vocab),
	}, nil
}

// Options returns the options in use, with defaults filled in.
func (b *Bridges) Options() Options { return b.o }

// Len is the number of passages, Dim the length of their vectors.
func (b *Bridges) Len() int { return b.n }
func (b *Bridges) Dim() int { return b.dim }

// Cells is the number of cells.
func (b *Bridges) Cells() int { return len(b.cells) }

// Has reports whether a passage is present.
func (b *Bridges) Has(id uint64) bool { _, ok := b.places.find(id); return ok }

// Cell returns the cell of a passage, and whether it is present. Cost O(log² Len).
func (b *Bridges) Cell(id uint64) (int, bool) {
	c, ok := b.places.find(id)
	return int(c), ok
}

// Members appends the passages of a cell, which must exist, to dst, ascending.
func (b *Bridges) Members(dst []uint64, cell int) ([]uint64, error) {
	return guarded(func() ([]uint64, error) {
		c, err := b.cell(cell)
		if err != nil {
			return dst, err
		}
		return append(dst, c.ids...), nil
	})
}

// Outgrown reports whether Repartition is due: CellsFor wants more than one and a half times the
// cells, or less than half. Always false if Options.Cells is set.
func (b *Bridges) Outgrown() bool {
	have, want := len(b.cells), CellsFor(b.n)
	return b.o.Cells == 0 && (want > have+have/2 || want < (have+1)/2)
}

// Memory is the size of the parts of Bridges, in bytes, mapped files included.
type Memory struct {
	Codes     int64 // codes of the vectors: d bytes a passage
	Shifts    int64 // h_p: d bytes a passage
	Rows      int64 // stored sums: d bytes for each such token and cell
	Tokens    int64 // tokens of passages: 4 bytes each, 8 for each distinct one of a cell, and a KiB a cell
	Directory int64 // cells of each token: 4 bytes each
	IDs       int64 // 24 bytes a passage
	Centroids int64
}

// Total is the sum of all parts.
func (m Memory) Total() int64 {
	return m.Codes + m.Shifts + m.Rows + m.Tokens + m.Directory + m.IDs + m.Centroids
}

// Bytes is the memory of the bridges. Cost O(cells).
func (b *Bridges) Bytes() Memory {
	d := int64(b.dim)
	m := Memory{
		Centroids: 4 * int64(len(b.partition.centroids)+len(b.partition.groups)),
		Directory: 8 * int64(b.words.vocab()+1),
		IDs:       12 * int64(b.places.len()),
	}
	for _, s := range b.cells {
		n, rows, tokens, slots := int64(s.n), int64(s.rows), int64(s.tokens), int64(s.slots)
		m.Codes += n * (d + 4)
		m.Shifts += n * (d + 4)
		m.Rows += rows * (d + 4)
		m.Tokens += 8*tokens + 4*slots + 4*buckets
		m.Directory += 4 * tokens
		m.IDs += 12 * n
	}
	return m
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: local bridges: %s; make them anew from the passages: %w", modulate.ErrCorrupt, fmt.Sprintf(format, args...), snapshot.ErrDamaged)
}

// guarded runs f, and turns a fault in the file of the cells into an error, and damage in its container
// into an ErrCorrupt. It covers one goroutine: f must not start another one that reads cells.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if errors.Is(err, snapshot.ErrDamaged) && !errors.Is(err, modulate.ErrCorrupt) {
			err = fmt.Errorf("%w: local bridges; make them anew from the passages: %w", modulate.ErrCorrupt, err)
		}
	}()
	defer snapshot.Guard(&err)()
	return f()
}
