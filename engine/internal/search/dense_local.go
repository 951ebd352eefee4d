package search

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// The number of cells that a query probes: all up to wholeCells, about 10,000 passages, and at
// least a tenth of more.
const (
	wholeCells = 40
	cellsShare = 10
)

// probes is the number of cells to probe. If a filter keeps only found of all documents, more
// cells are probed, so that about as many matching documents are compared.
func probes(cells, found, all int) int {
	n := max(wholeCells, (cells+cellsShare-1)/cellsShare)
	if found < all {
		n = int(float64(n) * float64(all) / float64(max(found, 1)))
	}
	return min(n, cells)
}

// localLeg is the dense retriever of a query with a vector for each cell. A chunk's score is the
// inner product with the vector of its cell; chunks that are not yet in the local bridges are
// scored by one vector.
type localLeg struct {
	s     *state.State
	in    modulate.Input // Dense is what the cells' shifts are added to
	plain []float32      // the plain query vector
	other vectorOnce     // for chunks in no cell
	found int            // at most as many chunks meet the filter
	cells []int          // looked into so far
	at    []int          // for each cell, where its vector begins, or −1
	rows  []float32      // vectors of the cells
	room  *[]float32     // where they lie, which release gives back
}

// vectorOnce makes a vector at the first call, and returns the same one afterwards.
type vectorOnce func() ([]float32, error)

// rooms holds *[]float32. Most of the memory of a search is the vectors of forty cells.
var rooms = sync.Pool{New: func() any { return new([]float32) }}

// release frees the vectors of the cells; no method may be called afterwards.
func (l *localLeg) release() {
	*l.room = l.rows[:0]
	rooms.Put(l.room)
	l.rows = nil
}

// newLocalLeg modulates a query for the first cells to probe. found is the approximate number of
// chunks that meet its filter, most an upper bound. Most queries do not need other.
func newLocalLeg(ctx context.Context, s *state.State, in modulate.Input, plain []float32, other vectorOnce, found, most int) (*localLeg, error) {
	all := s.Local.Cells()
	l := &localLeg{s: s, in: in, plain: plain, other: other, found: most, at: slices.Repeat([]int{-1}, all), room: rooms.Get().(*[]float32)}
	l.rows = (*l.room)[:0]
	cells, err := s.Local.Probe(nil, in, probes(all, found, s.Local.Len()))
	if err != nil {
		return nil, err
	}
	l.cells = cells
	return l, l.modulate(ctx, cells)
}

// modulate makes the vectors of cells without one.
func (l *localLeg) modulate(ctx context.Context, cells []int) (err error) {
	from := len(l.rows)
	l.rows = slices.Grow(l.rows, len(cells)*len(l.plain))
	l.rows, err = l.s.Local.Modulate(ctx, l.rows, l.in, cells)
	for i, c := range cells {
		l.at[c] = from + i*len(l.plain)
	}
	return err
}

func (l *localLeg) row(cell int) []float32 { return l.rows[l.at[cell]:][:len(l.plain)] }

// turned is the cosine between the plain vector and that of the first cell.
func (l *localLeg) turned() float32 {
	v := l.row(l.cells[0])
	n := vec.Norm(v)
	if n == 0 {
		return 0
	}
	return vec.Dot(l.plain, v) / n
}

func (l *localLeg) nearest(ctx context.Context, k, _ int, f filtered) ([]fusion.Candidate, error) {
	near, err := l.search(ctx, k, f)
	if err == nil && len(near) < min(k, l.found) && len(l.cells) < len(l.at) {
		// Too few documents in the likeliest cells: look into all of them.
		var rest []int
		for c, at := range l.at {
			if at < 0 {
				rest = append(rest, c)
			}
		}
		if err = l.modulate(ctx, rest); err == nil {
			l.cells = append(l.cells, rest...)
			near, err = l.search(ctx, k, f)
		}
	}
	if err != nil {
		return nil, err
	}
	cs := make([]fusion.Candidate, len(near))
	for i, n := range near {
		cs[i] = fusion.Candidate{Ord: n.ID, Dense: float64(n.Score), Score: float64(n.Score)}
	}
	fresh := 0
	for i, id := range l.s.Fresh {
		if i%scored == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if l.s.Sees(id) && !l.s.Local.Has(id) && (f.allow == nil || f.allow(id)) {
			v, err := l.passage(id)
			if err != nil {
				return nil, err
			}
			q, err := l.other()
			if err != nil {
				return nil, err
			}
			dense := float64(vec.Dot(q, v))
			cs = append(cs, fusion.Candidate{Ord: id, Dense: dense, Score: dense})
			fresh++
		}
	}
	if fresh > 0 {
		fusion.Sort(cs, fusion.Dense)
		cs = cs[:min(k, len(cs))]
	}
	return cs, nil
}

func (l *localLeg) search(ctx context.Context, k int, f filtered) ([]local.Scored, error) {
	ps := make([]local.Probe, len(l.cells))
	for i, c := range l.cells {
		ps[i] = local.Probe{Cell: c, Query: l.row(c)}
	}
	sees := l.s.Sees
	if f.allow != nil {
		sees = func(id uint64) bool { return l.s.Sees(id) && f.allow(id) }
	}
	return l.s.Local.Search(ctx, make([]local.Scored, 0, min(k, l.found)), ps, k, sees)
}

func (l *localLeg) score(ctx context.Context, cs []fusion.Candidate) error {
	cell := make([]int, len(cs))
	var missing []int
	for i, c := range cs {
		var ok bool
		if cell[i], ok = l.s.Local.Cell(c.Ord); !ok {
			cell[i] = -1
		} else if l.at[cell[i]] < 0 {
			missing = append(missing, cell[i])
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		if err := l.modulate(ctx, slices.Compact(missing)); err != nil {
			return err
		}
	}
	for i := range cs {
		if i%scored == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := l.passage(cs[i].Ord)
		if err != nil {
			return err
		}
		var q []float32
		if cell[i] >= 0 {
			q = l.row(cell[i])
		} else if q, err = l.other(); err != nil {
			return err
		}
		cs[i].Dense = float64(vec.Dot(q, v))
	}
	return nil
}

// passage is the stored vector of a chunk of the state.
func (l *localLeg) passage(id uint64) ([]float32, error) {
	if v := l.s.Vector(id); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("vector of chunk %d: %w", id, index.ErrCorrupt)
}

func (l *localLeg) vectorFor(id uint64) []float32 {
	if c, ok := l.s.Local.Cell(id); ok {
		return l.row(c)
	}
	v, _ := l.other() // score has had it
	return v
}

// shares divides the contribution of the chunk's cell to its score among the tokens.
func (l *localLeg) shares(id uint64, passage []float32) (map[int32]float64, error) {
	out := map[int32]float64{}
	c, ok := l.s.Local.Cell(id)
	if !ok {
		return out, nil
	}
	all, err := l.s.Local.Shares(nil, l.in, c, passage)
	if err != nil {
		return nil, err
	}
	for i, id := range l.in.Tokens.Lexical(nil) {
		out[id] = all[i]
	}
	return out, nil
}
