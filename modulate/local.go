package modulate

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Local bridges. One RLR is an associative memory of d×d numbers, and its gain
// fades as a corpus grows past a few times d passages. So the corpus is cut
// into cells of about 250 (Partition) with an RLR each, and a query has a
// vector for each cell c, with which the passages of c alone are scored:
//
//	q_c = q + γ·l_c,  l_c = A_c⁻¹ Σ_t idf_t (s_t − df_t μ_c)
//
// with A_c, s_t, df_t and μ_c those of RLR over the passages of c, and idf_t the
// lesser of that in the cell and that in the corpus: a word common elsewhere
// shall not draw the query into the one cell where it is rare. q_c is not
// normalised: scores of different cells are compared by q_c·p.
//
// Neither inverses nor sums are kept. As s_t − df_t μ_c = Σ_{p∋t} (x_p − μ_c),
// l_c is a sum of the vectors h_p = A_c⁻¹ (x_p − μ_c) over the passages p that
// share a token with the query. h_p takes d bytes a passage as int8 codes; a
// rare token is the list of its passages, and only tokens of several passages
// have their sum ready in a table. A query so costs a few rows for each of its
// tokens and cell, never O(d²). A cell with fewer passages than d inverts
// X Xᵀ + λI instead, which gives the same h_p.

// LocalOptions shape Local. The zero value of each field is its default.
type LocalOptions struct {
	// Gamma is the factor of the shift, in (0, 10]; 0 means 0.05.
	Gamma float64
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

func (o LocalOptions) withDefaults() (LocalOptions, error) {
	if o.Gamma == 0 {
		o.Gamma = 0.05
	}
	if o.Lambda == 0 {
		o.Lambda = 0.15
	}
	if o.TableFrom == 0 {
		o.TableFrom = 6
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if !(o.Gamma > 0 && o.Gamma <= 10) || !(o.Lambda >= 1e-6 && o.Lambda <= 1e9) || o.TableFrom < 1 || o.Workers < 1 {
		return o, fmt.Errorf("%w: local bridges with gamma %v, lambda %v, tables from %d passages, %d workers; gamma is in (0, 10], lambda in [1e-6, 1e9], the others from 1",
			ErrOptions, o.Gamma, o.Lambda, o.TableFrom, o.Workers)
	}
	return o, nil
}

// Local holds the local bridges of a corpus. It follows inserts and deletes:
// changed cells are fitted anew, from their present passages alone, by Refresh
// or by the next query, so the bridges equal, bit for bit, those of a fresh
// build with the same partition. The partition itself stands still; when Skew
// has grown, it is time to make a new one.
//
// It keeps the tokens of passages but not their vectors, which it reads through
// a function when it fits. Safe for concurrent use.
type Local struct {
	partition *Partition
	o         LocalOptions
	vectors   func(id uint64) []float32

	mu    sync.RWMutex
	cells []*localCell
	place map[uint64]uint32 // passage → cell
	df    []int32           // [|V|] passages of all cells with the token
	dir   [][]localEntry    // [|V|] what each cell knows of the token
	dirty int               // cells to be fitted anew
}

// localCell is a cell: its passages, and the regression over them.
type localCell struct {
	members []localMember // in no order; by id after a fit
	dirty   bool
	fit     localFit
}

type localMember struct {
	id     uint64
	tokens []int32
}

// localEntry is a token in a cell: a row of the cell's table, or a list of its
// passages.
type localEntry struct {
	cell   uint32
	from   uint32  // first of the slots, or the row
	n      uint32  // number of slots; 0 for a row
	weight float32 // idf in the cell
}

// NewLocal returns bridges without passages over the cells of p, for a
// vocabulary of vocab tokens. vectors returns the unit vector of a passage that
// was added, nil for one it does not know; it must answer for every passage
// from Add until Remove, is called from several goroutines, and must not call
// the Local. Options outside their range are an ErrOptions.
func NewLocal(p *Partition, vocab int, vectors func(id uint64) []float32, o LocalOptions) (*Local, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if p == nil || vectors == nil || vocab < 1 {
		return nil, fmt.Errorf("%w: local bridges need a partition, the vectors of passages and a vocabulary of at least 1 token, got %d", ErrOptions, vocab)
	}
	l := &Local{
		partition: p, o: o, vectors: vectors, cells: make([]*localCell, p.Cells()),
		place: map[uint64]uint32{}, df: make([]int32, vocab), dir: make([][]localEntry, vocab),
	}
	for i := range l.cells {
		l.cells[i] = &localCell{}
	}
	return l, nil
}

// Options are the options in use, defaults filled in.
func (l *Local) Options() LocalOptions { return l.o }

// Partition is what the cells were made by.
func (l *Local) Partition() *Partition { return l.partition }

// Len is the number of passages.
func (l *Local) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.place)
}

// Skew is the size of the largest cell against the mean, 1 for equal cells and
// 0 for none at all. Fresh k-means cells reach about 3; a cell that grows on
// gains less and less.
func (l *Local) Skew() float64 {
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
// ErrPassage and changes nothing. Cost O(L); the cell is fitted later.
func (l *Local) Add(cell int, id uint64, tokens []int32) error {
	if cell < 0 || cell >= len(l.cells) {
		return fmt.Errorf("%w: cell %d of %d; use Partition.Cell", ErrPassage, cell, len(l.cells))
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= len(l.df) {
			return fmt.Errorf("%w: token %d outside the vocabulary of %d; use the encoder of this corpus", ErrPassage, t, len(l.df))
		}
	}
	tokens = slices.Clone(tokens)
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.place[id]; ok {
		return fmt.Errorf("%w: passage %d is there already; remove it first", ErrPassage, id)
	}
	c := l.cells[cell]
	l.place[id] = uint32(cell)
	c.members = append(c.members, localMember{id, tokens})
	for _, t := range tokens {
		l.df[t]++
	}
	l.touch(c)
	return nil
}

// Remove takes a passage out and reports whether it was there. Cost that of a
// walk over its cell.
func (l *Local) Remove(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	cell, ok := l.place[id]
	if !ok {
		return false
	}
	c := l.cells[cell]
	i := slices.IndexFunc(c.members, func(m localMember) bool { return m.id == id })
	for _, t := range c.members[i].tokens {
		l.df[t]--
	}
	last := len(c.members) - 1
	c.members[i] = c.members[last]
	c.members[last] = localMember{}
	c.members = c.members[:last]
	delete(l.place, id)
	l.touch(c)
	return true
}

func (l *Local) touch(c *localCell) {
	if !c.dirty {
		c.dirty = true
		l.dirty++
	}
}

// Bytes is the memory that the bridges take: codes, tables, lists and tokens.
func (l *Local) Bytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := 4*cap(l.partition.centroids) + 24*len(l.place) + 28*len(l.df)
	for _, c := range l.cells {
		f := &c.fit
		n += cap(f.codes) + 4*cap(f.scale) + cap(f.rows) + 4*cap(f.rowScale) + 4*cap(f.slots) + 4*cap(f.tokens) + 32*cap(c.members)
		for _, m := range c.members {
			n += 4 * cap(m.tokens)
		}
	}
	for _, d := range l.dir {
		n += 16 * cap(d)
	}
	return int64(n)
}

// Refresh fits the cells that have changed. Cost O(n·d·min(n, d)) for a cell of
// n passages: some 5 ms at d = 384 and n = 250. A passage whose vector is
// missing, of another length or not of unit length is an ErrPassage; its cell
// then stays unfitted, and queries fail, until the vector is right or the
// passage is removed.
func (l *Local) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var todo []int
	for i, c := range l.cells {
		if c.dirty {
			todo = append(todo, i)
		}
	}
	errs := make([]error, len(todo))
	fits := make([]localFit, len(todo))
	entries := make([][]localEntry, len(todo))
	var wg sync.WaitGroup
	for w := range min(l.o.Workers, len(todo)) {
		wg.Go(func() {
			for k := w; k < len(todo); k += l.o.Workers {
				fits[k], entries[k], errs[k] = l.fitCell(l.cells[todo[k]].members)
			}
		})
	}
	wg.Wait()
	var first error
	for k, i := range todo {
		if errs[k] != nil {
			if first == nil {
				first = fmt.Errorf("cell %d: %w", i, errs[k])
			}
			continue
		}
		l.publish(i, fits[k], entries[k])
	}
	return first
}

// publish makes a fit the one that queries use.
func (l *Local) publish(cell int, f localFit, entries []localEntry) {
	c := l.cells[cell]
	for _, t := range c.fit.tokens {
		l.dir[t] = slices.DeleteFunc(l.dir[t], func(e localEntry) bool { return e.cell == uint32(cell) })
	}
	for k, t := range f.tokens {
		e := entries[k]
		e.cell = uint32(cell)
		l.dir[t] = append(l.dir[t], e)
	}
	c.fit, c.dirty = f, false
	l.dirty--
}

// fresh takes the read lock with all cells fitted.
func (l *Local) fresh() error {
	for {
		l.mu.RLock()
		if l.dirty == 0 {
			return nil
		}
		l.mu.RUnlock()
		if err := l.Refresh(); err != nil {
			return err
		}
	}
}
