package local

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Probe appends to dst the n cells most likely to have the answers of a query, best first; all cells if
// there are no more. A cell scores the inner product of its centroid with the query vector plus the
// idf-weighted share of the query's tokens that occur in it. ErrOptions for a query of another
// dimension. Cost O(Cells·d), and Cells a token. No allocation if dst has room and no cell comes from a
// file.
func (b *Bridges) Probe(dst []int, in modulate.Input, n int) ([]int, error) {
	if !b.mapped {
		return b.probe(dst, in, n)
	}
	return guarded(func() ([]int, error) { return b.probe(dst, in, n) })
}

func (b *Bridges) probe(dst []int, in modulate.Input, n int) ([]int, error) {
	if err := b.checkQuery(in); err != nil {
		return dst, err
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.score = vec.Grown(s.score, len(b.cells))
	s.cover = vec.Grown(s.cover, len(b.cells))
	clear(s.cover)
	b.partition.dots(s.score, in.Dense)
	s.ids = in.Tokens.Lexical(s.ids[:0])
	var all float32
	for _, t := range s.ids {
		df := max(0, b.words.count(t))
		w := float32(ridge.IDF(b.n, df))
		all += w
		if df == 0 {
			continue
		}
		list, err := b.having(t)
		if err != nil {
			return dst, err
		}
		for _, c := range list {
			s.cover[c] += w
		}
	}
	if all > 0 {
		vec.Axpy(s.score, 1/all, s.cover)
	}
	s.order = s.order[:0]
	for c := range b.cells {
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

// Modulate appends the query vectors of the given cells [len(cells) × Dim] to dst, which must not
// overlap in.Dense. They are not normalised. In a cell without any token of the query the vector
// is in.Dense bit for bit. ErrOptions for a cell that does not exist or a query of another
// dimension. It checks ctx before each cell. Cost for each token and cell O(log tokens), and O(d)
// if the token occurs there. No allocation if dst has room and no cell comes from a file.
func (b *Bridges) Modulate(ctx context.Context, dst []float32, in modulate.Input, cells []int) ([]float32, error) {
	if !b.mapped {
		return b.modulate(ctx, dst, in, cells)
	}
	return guarded(func() ([]float32, error) { return b.modulate(ctx, dst, in, cells) })
}

func (b *Bridges) modulate(ctx context.Context, dst []float32, in modulate.Input, cells []int) ([]float32, error) {
	if err := b.checkQuery(in); err != nil {
		return dst, err
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.ids = in.Tokens.Lexical(s.ids[:0])
	factor := b.weigh(s)
	if err := b.present(s); err != nil {
		return dst, err
	}
	base := len(dst)
	for _, at := range cells {
		if at < 0 || at >= len(b.cells) {
			return dst[:base], fmt.Errorf("%w: cell %d of %d does not exist; use Probe", modulate.ErrOptions, at, len(b.cells))
		}
		if err := ctx.Err(); err != nil {
			return dst[:base], err
		}
		c, err := b.cell(at)
		if err != nil {
			return dst[:base], err
		}
		dst = append(dst, in.Dense...)
		s.found = c.move(dst[len(dst)-b.dim:], s.ids, s.whole, s.there[at], factor, s.found)
	}
	return dst, nil
}

// move adds the shifts of tokens to the query vector q of the cell; whole has the tokens' idf in the
// corpus. It looks up all of them before it reads their data, so that cache misses overlap. A token i
// below 64 is not in this cell if bit i of there is
// 0. found is its working memory, which it returns.
func (c *cell) move(q []float32, tokens []int32, whole []float32, there uint64, factor float32, found []weighed) []weighed {
	found = found[:0]
	for i, t := range tokens {
		if whole[i] == 0 || i < 64 && there>>i&1 == 0 { // a token that no passage has, or none of the cell
			continue
		}
		if at, ok := c.find(uint32(t)); ok {
			found = append(found, weighed{at, whole[i]})
		}
	}
	for i := range found {
		f := &found[i]
		f.weight = factor * min(c.idf[c.count(f.at)], f.weight)
		c.prefetch(f.at, len(q))
	}
	for _, f := range found {
		if f.weight > 0 { // that of a token of all passages is 0
			c.shift(q, f.at, f.weight)
		}
	}
	return found
}

// having returns the cells that have token t.
func (b *Bridges) having(t int32) ([]uint32, error) {
	list, err := b.words.cells(t)
	for _, c := range list {
		if int(c) >= len(b.cells) {
			return nil, corrupt("token %d is in cell %d of %d", t, c, len(b.cells))
		}
	}
	return list, err
}

// present writes to s.there, for each cell, which of the first 64 tokens of s.ids it has: a bit for
// each.
func (b *Bridges) present(s *scratch) error {
	s.there = vec.Grown(s.there, len(b.cells))
	clear(s.there)
	for i, t := range s.ids[:min(64, len(s.ids))] {
		if s.whole[i] == 0 {
			continue
		}
		list, err := b.having(t)
		if err != nil {
			return err
		}
		for _, c := range list {
			s.there[c] |= 1 << i
		}
	}
	return nil
}

// weighed is a token of a cell, by its position, and its weight in a query.
type weighed struct {
	at     int
	weight float32
}

// weigh writes the idf of the tokens s.ids in the corpus to s.whole, 0 for those that no passage has,
// and returns β / Σ idf. The sum includes tokens that no passage has, so the shift of a cell is
// proportional to the share of the query that the corpus knows.
func (b *Bridges) weigh(s *scratch) (factor float32) {
	var all float64
	s.whole = vec.Grown(s.whole, len(s.ids))
	for i, t := range s.ids {
		df := max(0, b.words.count(t))
		w := ridge.IDF(b.n, df)
		all += w
		if s.whole[i] = 0; df > 0 {
			s.whole[i] = float32(w)
		}
	}
	return float32(b.beta() / all)
}

// beta is β for the present number of passages.
func (b *Bridges) beta() float64 {
	if b.o.Beta > 0 {
		return b.o.Beta
	}
	return defaultBeta(b.n)
}

// Shares appends, for each token of lexical weight of the query (in the order of
// encoder.Tokens.Lexical), its contribution to the inner product of passage [Dim] with the query vector
// of a cell. The score is that of in.Dense plus all shares, up to rounding. Errors and cost are those
// of Modulate.
func (b *Bridges) Shares(dst []float64, in modulate.Input, cell int, passage []float32) ([]float64, error) {
	return guarded(func() ([]float64, error) { return b.shares(dst, in, cell, passage) })
}

func (b *Bridges) shares(dst []float64, in modulate.Input, cell int, passage []float32) ([]float64, error) {
	if err := b.checkQuery(in); err != nil {
		return dst, err
	}
	if cell < 0 || cell >= len(b.cells) || len(passage) != b.dim {
		return dst, fmt.Errorf("%w: cell %d of %d, passage of length %d", modulate.ErrOptions, cell, len(b.cells), len(passage))
	}
	c, err := b.cell(cell)
	if err != nil {
		return dst, err
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.ids = in.Tokens.Lexical(s.ids[:0])
	factor, moved := b.weigh(s), make([]float32, b.dim)
	for i := range s.ids {
		clear(moved)
		s.found = c.move(moved, s.ids[i:i+1], s.whole[i:i+1], ^uint64(0), factor, s.found)
		dst = append(dst, float64(vec.Dot(moved, passage)))
	}
	return dst, nil
}

func (b *Bridges) checkQuery(in modulate.Input) error {
	if len(in.Dense) != b.dim {
		return fmt.Errorf("%w: query vector of length %d for cells of dimension %d; use the encoder of this corpus", modulate.ErrOptions, len(in.Dense), b.dim)
	}
	return nil
}

type scratch struct {
	score, cover []float32
	order        []int
	ids          []int32
	whole        []float32 // of ids: see weigh
	there        []uint64  // of cells: see present
	found        []weighed
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}
