package local

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/modulate"
)

// Local bridges. One RLR is an associative memory of d×d numbers, and its gain
// fades as a corpus grows past a few times d passages. So the corpus is cut
// into cells of about 250 (Partition) with an RLR each, and a query has a
// vector for each cell c, with which the passages of c alone are scored:
//
//	q_c = q + β·l_c / Σ_t idf_t,  l_c = A_c⁻¹ Σ_t w_t (s_t − df_t μ_c)
//
// with A_c, s_t, df_t and μ_c those of RLR over the passages of c, and w_t the
// lesser of the token's idf in the cell and idf_t, that in the corpus: a word
// common elsewhere shall not draw the query into the one cell where it is rare.
//
// A cell has fewer passages than dimensions, so the regression nearly
// interpolates: l_c·p is about Σ w_t over the tokens that p shares with the
// query, and β·l_c·p / Σ idf_t about β times the coverage of the query by p (Σ over
// the tokens that some passage has). So
// the shift is bounded by the share of the query's words that a passage has: a
// copied phrase moves it by β, a question asked in other words by little. q_c is
// not normalised: scores of different cells are compared by q_c·p.
//
// Neither inverses nor sums are kept. As s_t − df_t μ_c = Σ_{p∋t} (x_p − μ_c),
// l_c is a sum of the vectors h_p = A_c⁻¹ (x_p − μ_c) over the passages p that
// share a token with the query. h_p takes d bytes a passage as int8 codes; a
// rare token is the list of its passages, and only tokens of several passages
// have their sum ready in a table. A query so costs a few rows for each of its
// tokens and cell, never O(d²). A cell with fewer passages than d inverts
// X Xᵀ + λI instead, which gives the same h_p.

// Options shape Local. The zero value of each field is its default.
type Options struct {
	// Beta is what a passage with every token of the query gains by the shift,
	// in (0, 10]; 0 means 0.8 up to 10,000 passages, 1 from 20,000 on, and
	// between them in proportion to the logarithm of their number.
	Beta float64
	// Lambda is the ridge of each cell, as in RLROptions; 0 means 0.15: a cell
	// has few passages, and is to tell them apart.
	Lambda float64
	// TableFrom is the number of passages of a cell from which on a token has
	// a row in the cell's table, at least 1; 0 means 6. A smaller one makes
	// queries faster and tables larger.
	TableFrom int
	// Workers is the number of cells fitted at once; 0 means as many as the Go
	// runtime runs at once. The result is the same.
	Workers int
}

func (o Options) withDefaults() (Options, error) {
	if o.Lambda == 0 {
		o.Lambda = 0.15
	}
	if o.TableFrom == 0 {
		o.TableFrom = 6
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if !(o.Beta >= 0 && o.Beta <= 10) || !(o.Lambda >= 1e-6 && o.Lambda <= 1e9) || o.TableFrom < 1 || o.Workers < 1 {
		return o, fmt.Errorf("%w: local bridges with beta %v, lambda %v, tables from %d passages, %d workers; beta is in (0, 10], lambda in [1e-6, 1e9], the others from 1",
			modulate.ErrOptions, o.Beta, o.Lambda, o.TableFrom, o.Workers)
	}
	return o, nil
}

// defaultBeta is β for n passages by default: the more there are, the more of them
// are as near in meaning and lack the words.
func defaultBeta(n int) float64 {
	return 0.8 + 0.2*min(max(math.Log2(float64(n)/10000), 0), 1)
}

// Local holds the local bridges of a corpus. It follows inserts and deletes:
// changed cells are fitted anew, from their present passages alone, by Refresh
// or by the next query, so the bridges equal, bit for bit, those of a fresh
// build with the same partition. The partition itself stands still; when Skew
// has grown, it is time to make a new one.
//
// It keeps the tokens of passages but not their vectors, which it reads through
// a function when it fits. Safe for concurrent use.
type Bridges struct {
	partition *Partition
	o         Options
	vectors   func(id uint64) []float32

	mu    sync.RWMutex
	cells []*cell
	place map[uint64]place // of each passage
	df    []int32          // [|V|] passages of all cells with the token
	dir   [][]entry        // [|V|] the cells with the token, ascending
	dirty int              // cells to be fitted anew
}

// cell is a cell: its passages, and the regression over them.
type cell struct {
	members []member // by id after a fit, else in no order
	dirty   bool
	fit     fit
}

type member struct {
	id     uint64
	tokens []int32 // ascending
}

type place struct{ cell, at uint32 } // at is the position among the members

// entry is a token in a cell. Cell and n are true at all times, so that
// probing needs no fit; the rest is the present fit's.
type entry struct {
	cell   uint32
	n      uint32  // passages of the cell with the token, at least 1
	from   uint32  // first of its n slots; the row, with tabled set
	weight float32 // idf in the cell; 0 for a token of every passage, which has neither
}

// tabled marks the number of a row.
const tabled = 1 << 31

// New returns bridges without passages over the cells of p, for a
// vocabulary of vocab tokens. vectors returns the unit vector of a passage that
// was added, nil for one it does not know; it must answer for every passage
// from Add until Remove, is called from several goroutines, and must not call
// the Local. Options outside their range are a modulate.ErrOptions.
func New(p *Partition, vocab int, vectors func(id uint64) []float32, o Options) (*Bridges, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if p == nil || vectors == nil || vocab < 1 {
		return nil, fmt.Errorf("%w: local bridges need a partition, the vectors of passages and a vocabulary of at least 1 token, got %d", modulate.ErrOptions, vocab)
	}
	l := &Bridges{
		partition: p, o: o, vectors: vectors, cells: make([]*cell, p.Cells()),
		place: map[uint64]place{}, df: make([]int32, vocab), dir: make([][]entry, vocab),
	}
	for i := range l.cells {
		l.cells[i] = &cell{}
	}
	return l, nil
}

// Options are the options in use, defaults filled in.
func (l *Bridges) Options() Options { return l.o }

// Partition is what the cells were made by.
func (l *Bridges) Partition() *Partition { return l.partition }

// Len is the number of passages.
func (l *Bridges) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.place)
}

// Skew is the size of the largest cell against the mean, 1 for equal cells and
// 0 for none at all. Fresh k-means cells reach about 3; a cell that grows on
// gains less and less.
func (l *Bridges) Skew() float64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.place) == 0 {
		return 0
	}
	top := 0
	for _, c := range l.cells {
		top = max(top, len(c.members))
	}
	return float64(top*len(l.cells)) / float64(len(l.place))
}

// Add puts a passage with its tokens of lexical weight (distinct ids, as
// encoder.Tokens.Lexical gives) into a cell, in general Partition.Cell of its
// vector. A cell or token that does not exist, or an id that is in use, is an
// modulate.ErrPassage and changes nothing. Cost O(L); the cell is fitted later.
func (l *Bridges) Add(cell int, id uint64, tokens []int32) error {
	if cell < 0 || cell >= len(l.cells) {
		return fmt.Errorf("%w: cell %d of %d; use Partition.Cell", modulate.ErrPassage, cell, len(l.cells))
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= len(l.df) {
			return fmt.Errorf("%w: token %d outside the vocabulary of %d; use the encoder of this corpus", modulate.ErrPassage, t, len(l.df))
		}
	}
	tokens = slices.Clone(tokens)
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.place[id]; ok {
		return fmt.Errorf("%w: passage %d is there already; remove it first", modulate.ErrPassage, id)
	}
	l.add(cell, id, tokens)
	return nil
}

// add takes a checked passage in. The caller holds the lock.
func (l *Bridges) add(cell int, id uint64, tokens []int32) {
	c := l.cells[cell]
	l.place[id] = place{uint32(cell), uint32(len(c.members))}
	c.members = append(c.members, member{id, tokens})
	for _, t := range tokens {
		l.df[t]++
		i, ok := slices.BinarySearchFunc(l.dir[t], uint32(cell), byCell)
		if !ok {
			l.dir[t] = slices.Insert(l.dir[t], i, entry{cell: uint32(cell)})
		}
		l.dir[t][i].n++
	}
	l.touch(c)
}

func byCell(e entry, cell uint32) int { return cmp.Compare(e.cell, cell) }

// Remove takes a passage out and reports whether it was there. Cost O(L·log
// Cells); the cell is fitted later.
func (l *Bridges) Remove(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.place[id]
	if !ok {
		return false
	}
	c := l.cells[p.cell]
	for _, t := range c.members[p.at].tokens {
		l.df[t]--
		i, _ := slices.BinarySearchFunc(l.dir[t], p.cell, byCell)
		if l.dir[t][i].n--; l.dir[t][i].n == 0 {
			l.dir[t] = slices.Delete(l.dir[t], i, i+1)
		}
	}
	last := len(c.members) - 1
	if int(p.at) != last {
		c.members[p.at] = c.members[last]
		l.place[c.members[p.at].id] = p
	}
	c.members[last] = member{}
	c.members = c.members[:last]
	delete(l.place, id)
	l.touch(c)
	return true
}

// Cell returns the cell of a passage, and false for one that is not there.
func (l *Bridges) Cell(id uint64) (int, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p, ok := l.place[id]
	return int(p.cell), ok
}

// Members appends the passages of a cell to dst, in no order.
func (l *Bridges) Members(dst []uint64, cell int) []uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, m := range l.cells[cell].members {
		dst = append(dst, m.id)
	}
	return dst
}

func (l *Bridges) touch(c *cell) {
	if !c.dirty {
		c.dirty = true
		l.dirty++
	}
}

// Bytes is the memory that the bridges take: codes, tables, lists and tokens.
func (l *Bridges) Bytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := 4*cap(l.partition.centroids) + 24*len(l.place) + 28*len(l.df)
	for _, c := range l.cells {
		f := &c.fit
		n += cap(f.codes) + 4*cap(f.scale) + cap(f.rows) + 4*cap(f.rowScale) + 4*cap(f.slots) + 32*cap(c.members)
		for _, m := range c.members {
			n += 4 * cap(m.tokens)
		}
	}
	for _, d := range l.dir {
		n += 16 * cap(d)
	}
	return int64(n)
}
