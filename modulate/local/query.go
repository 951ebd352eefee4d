package local

import (
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"

	"github.com/lexsem/lexsem/modulate"
)

// Probe appends to dst the n cells most likely to hold the answers of a query,
// best first; all cells where n is at least their number. A cell counts by the
// inner product of its centroid with the query vector, plus the share of the
// query's tokens, weighted by idf, that occur in it: that is known exactly,
// and finds the cell of a copied phrase where the centroid does not.
// Cost O(Cells·d).
func (l *Bridges) Probe(dst []int, in modulate.Input, n int) ([]int, error) {
	if err := l.checkQuery(in); err != nil {
		return dst, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.score = zeroed(s.score, len(l.cells))
	s.cover = zeroed(s.cover, len(l.cells))
	l.partition.Dots(s.score, in.Dense)
	s.ids = in.Tokens.Lexical(s.ids[:0])
	var all float32
	for _, t := range s.ids {
		if t < 0 || int(t) >= len(l.df) || l.df[t] == 0 {
			continue
		}
		w := float32(modulate.IDF(len(l.place), int(l.df[t])))
		all += w
		for _, e := range l.dir[t] {
			s.cover[e.cell] += w
		}
	}
	if all > 0 {
		vec.Axpy(s.score, 1/all, s.cover)
	}
	s.order = s.order[:0]
	for c := range l.cells {
		s.order = append(s.order, c)
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		switch {
		case s.score[a] > s.score[b]:
			return -1
		case s.score[a] < s.score[b]:
			return 1
		}
		return 0
	})
	return append(dst, s.order[:max(0, min(n, len(s.order)))]...), nil
}

// Modulate appends the query vectors of the given cells, one after another
// [len(cells) × Dim], to dst, which must not overlap in.Dense. In a cell where
// no token of the query occurs it is in.Dense bit for bit; otherwise it is not
// of unit length. The result is finite whenever in.Dense is. A cell that does
// not exist or comes twice, or a query of another dimension, is a modulate.ErrOptions. Cost O(d) for
// each token and cell, and the fitting of those of the cells that have changed.
// No allocation when dst has room.
func (l *Bridges) Modulate(dst []float32, in modulate.Input, cells []int) ([]float32, error) {
	if err := l.checkQuery(in); err != nil {
		return dst, err
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.at = s.at[:0]
	for range l.cells {
		s.at = append(s.at, -1)
	}
	base := len(dst)
	for i, c := range cells {
		if c < 0 || c >= len(l.cells) || s.at[c] >= 0 {
			return dst, fmt.Errorf("%w: cell %d of %d does not exist or comes twice; use Probe", modulate.ErrOptions, c, len(l.cells))
		}
		s.at[c] = base + i*len(in.Dense)
	}
	if err := l.fresh(cells); err != nil {
		return dst, err
	}
	defer l.mu.RUnlock()
	for range cells {
		dst = append(dst, in.Dense...)
	}
	s.ids = in.Tokens.Lexical(s.ids[:0])
	factor := l.factor(s.ids)
	for _, t := range s.ids {
		if t < 0 || int(t) >= len(l.dir) || l.df[t] == 0 {
			continue
		}
		whole := float32(modulate.IDF(len(l.place), int(l.df[t])))
		for _, e := range l.dir[t] {
			if at := s.at[e.cell]; at >= 0 && e.weight > 0 {
				l.cells[e.cell].fit.shift(dst[at:at+len(in.Dense)], e, factor*min(e.weight, whole))
			}
		}
	}
	return dst, nil
}

// factor is β / Σ_t idf_t over the tokens that some passage has. The caller holds the read lock.
func (l *Bridges) factor(ids []int32) float32 {
	var all float64
	for _, t := range ids {
		if t >= 0 && int(t) < len(l.df) && l.df[t] > 0 {
			all += modulate.IDF(len(l.place), int(l.df[t]))
		}
	}
	return float32(l.beta() / all)
}

// beta is β for the present passages. The caller holds the read lock.
func (l *Bridges) beta() float64 {
	if l.o.Beta > 0 {
		return l.o.Beta
	}
	return defaultBeta(len(l.place))
}

// Shares appends what each token of lexical weight of the query, in their order
// (encoder.Tokens.Lexical), adds to the inner product of passage [Dim] with the
// query vector of a cell: Modulate's is that of in.Dense and the sum of these,
// up to rounding. Errors and cost as Modulate.
func (l *Bridges) Shares(dst []float64, in modulate.Input, cell int, passage []float32) ([]float64, error) {
	if err := l.checkQuery(in); err != nil {
		return dst, err
	}
	if cell < 0 || cell >= len(l.cells) || len(passage) != l.partition.dim {
		return dst, fmt.Errorf("%w: cell %d of %d, passage of length %d", modulate.ErrOptions, cell, len(l.cells), len(passage))
	}
	if err := l.fresh([]int{cell}); err != nil {
		return dst, err
	}
	defer l.mu.RUnlock()
	ids := in.Tokens.Lexical(nil)
	factor, moved := l.factor(ids), make([]float32, l.partition.dim)
	for _, t := range ids {
		clear(moved)
		if t >= 0 && int(t) < len(l.dir) {
			if i, ok := slices.BinarySearchFunc(l.dir[t], uint32(cell), byCell); ok && l.dir[t][i].weight > 0 {
				e := l.dir[t][i]
				l.cells[cell].fit.shift(moved, e, factor*min(e.weight, float32(modulate.IDF(len(l.place), int(l.df[t])))))
			}
		}
		dst = append(dst, float64(vec.Dot(moved, passage)))
	}
	return dst, nil
}

func (l *Bridges) checkQuery(in modulate.Input) error {
	if len(in.Dense) != l.partition.dim {
		return fmt.Errorf("%w: query vector of length %d for cells of dimension %d; use the encoder of this corpus", modulate.ErrOptions, len(in.Dense), l.partition.dim)
	}
	return nil
}

type scratch struct {
	score, cover []float32
	order, at    []int
	ids          []int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// zeroed returns s with n zeros.
func zeroed(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	s = s[:n]
	clear(s)
	return s
}
