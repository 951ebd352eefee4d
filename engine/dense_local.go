package engine

import (
	"slices"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// VariantLocal names the local bridges.
const VariantLocal = "rlr-local"

// How many cells a query looks into: all of them up to wholeCells, about 10,000
// passages, and at least a tenth beyond.
const (
	wholeCells = 40
	cellsShare = 10
)

// probes is the number of cells to look into, with a filter that lets found of
// all documents through: as many documents that meet it as without one.
func probes(cells, found, all int) int {
	n := max(wholeCells, (cells+cellsShare-1)/cellsShare)
	if found < all {
		n = int(float64(n) * float64(all) / float64(max(found, 1)))
	}
	return min(n, cells)
}

// localLeg is the dense leg of a query that has a vector for each cell. A
// document's score is the inner product with the vector of its cell.
type localLeg struct {
	p     *local
	in    modulate.Input // Dense is what the cells' shifts are added to
	plain []float32      // the plain query vector
	found int            // at most as many chunks meet the filter
	cells []int          // looked into so far
	at    []int          // for each cell, where its vector begins, or −1
	rows  []float32      // vectors of the cells
}

// newLocalLeg modulates a query for the cells it will look into first. About found
// chunks meet its filter, and no more than most.
func newLocalLeg(p *local, in modulate.Input, plain []float32, found, most int) (*localLeg, error) {
	all := p.Partition().Cells()
	l := &localLeg{p: p, in: in, plain: plain, found: most, at: slices.Repeat([]int{-1}, all)}
	cells, err := p.Probe(nil, in, probes(all, found, p.Len()))
	if err != nil {
		return nil, err
	}
	l.cells = cells
	return l, l.modulate(cells)
}

// modulate makes the vectors of cells that have none yet.
func (l *localLeg) modulate(cells []int) (err error) {
	from := len(l.rows)
	l.rows = slices.Grow(l.rows, len(cells)*len(l.plain))
	l.rows, err = l.p.Modulate(l.rows, l.in, cells)
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

func (l *localLeg) nearest(k, _ int, allow func(uint64) bool) ([]fusion.Candidate, error) {
	near, err := l.search(k, allow)
	if err == nil && len(near) < min(k, l.found) && len(l.cells) < len(l.at) {
		// Too few documents in the likeliest cells: look into all of them.
		var rest []int
		for c, at := range l.at {
			if at < 0 {
				rest = append(rest, c)
			}
		}
		if err = l.modulate(rest); err == nil {
			l.cells = append(l.cells, rest...)
			near, err = l.search(k, allow)
		}
	}
	if err != nil {
		return nil, err
	}
	cs := make([]fusion.Candidate, len(near))
	for i, n := range near {
		cs[i] = fusion.Candidate{Ord: n.ID, Dense: float64(n.Score), Score: float64(n.Score)}
	}
	return cs, nil
}

func (l *localLeg) search(k int, allow func(uint64) bool) ([]index.Scored, error) {
	ps := make([]index.Probe, len(l.cells))
	for i, c := range l.cells {
		ps[i] = index.Probe{Cell: c, Query: l.row(c)}
	}
	return l.p.cells.Search(make([]index.Scored, 0, min(k, l.found)), l.plain, ps, index.SearchOptions{K: k, Allow: allow})
}

func (l *localLeg) score(cs []fusion.Candidate) error {
	cell := make([]int, len(cs))
	var missing []int
	for i, c := range cs {
		cell[i], _ = l.p.Cell(c.Ord)
		if l.at[cell[i]] < 0 {
			missing = append(missing, cell[i])
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		if err := l.modulate(slices.Compact(missing)); err != nil {
			return err
		}
	}
	for i := range cs {
		cs[i].Dense = float64(vec.Dot(l.row(cell[i]), l.p.vector(cs[i].Ord)))
	}
	return nil
}

func (l *localLeg) vectorFor(id uint64) []float32 {
	c, _ := l.p.Cell(id)
	return l.row(c)
}

// shares divides what the chunk's cell adds to its score among the tokens.
func (l *localLeg) shares(id uint64, passage []float32) (map[int32]float64, error) {
	c, _ := l.p.Cell(id)
	all, err := l.p.Shares(nil, l.in, c, passage)
	if err != nil {
		return nil, err
	}
	out := map[int32]float64{}
	for i, id := range l.in.Tokens.Lexical(nil) {
		out[id] = all[i]
	}
	return out, nil
}
