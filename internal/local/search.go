package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Probe requests from a cell the passages with the largest inner product with Query [Dim], which
// need not be normalised.
type Probe struct {
	Cell  int
	Query []float32
}

// Scored is one result of Search.
type Scored struct {
	ID    uint64
	Score float32 // inner product with the query vector of its cell
}

const (
	scanBlock  = 128  // rows between two looks at the shortlist
	scanned    = 2048 // rows between two looks at the context
	scoredOnce = 64   // exact scores between two looks at the context
	maxNorm    = 1e18 // of a query vector: no sum overflows
)

// Search appends to dst the k passages with the largest scores in the probed cells, best first,
// ties by id. allow, if not nil, says which passages count; it is called only for passages close to
// the answer. Probes are fastest in the order of Probe.
//
// It scans int8 codes and computes exact scores from the vectors where the rounding bound is not
// decisive, so the answer is exactly that of a float32 scan.
//
// ErrOptions for a cell that does not exist or is probed twice, k below 1, or a query that is not
// Dim finite numbers of length up to 1e18; modulate.ErrPassage if a vector is missing. It stops
// within a millisecond of work after ctx is done. No allocation if dst has room and no cell comes
// from a file.
func (b *Bridges) Search(ctx context.Context, dst []Scored, probes []Probe, k int, allow func(id uint64) bool) ([]Scored, error) {
	if !b.mapped {
		return b.search(ctx, dst, probes, k, allow)
	}
	return guarded(func() ([]Scored, error) { return b.search(ctx, dst, probes, k, allow) })
}

func (b *Bridges) search(ctx context.Context, dst []Scored, probes []Probe, k int, allow func(id uint64) bool) ([]Scored, error) {
	if k < 1 {
		return dst, fmt.Errorf("%w: k is %d; ask for one passage or more", modulate.ErrOptions, k)
	}
	s := searches.Get().(*searcher)
	defer s.release()
	s.seen = vec.Grown(s.seen, len(b.cells))
	clear(s.seen)
	total := 0
	for i, p := range probes {
		if p.Cell < 0 || p.Cell >= len(b.cells) || s.seen[p.Cell] {
			return dst, fmt.Errorf("%w: probe %d of cell %d, with %d cells; name each cell once", modulate.ErrOptions, i, p.Cell, len(b.cells))
		}
		s.seen[p.Cell] = true
		if err := b.checkVector(p.Query); err != nil {
			return dst, fmt.Errorf("probe %d: %w", i, err)
		}
		total += b.cells[p.Cell].n
	}
	s.reset(k, total)
	for i, p := range probes {
		c, err := b.cell(p.Cell)
		if err != nil {
			return dst, err
		}
		if err := s.scan(ctx, i, c, p.Query, allow); err != nil {
			return dst, err
		}
	}
	s.prune()
	return b.score(ctx, dst, probes, s, k)
}

func (b *Bridges) checkVector(q []float32) error {
	if len(q) != b.dim || !(vec.Dot(q, q) <= maxNorm*maxNorm) { // a sum with NaN is one
		return fmt.Errorf("%w: vector of length %d where %d finite numbers are needed", modulate.ErrOptions, len(q), b.dim)
	}
	return nil
}

// scan notes the passages of a cell that may be among the best so far.
func (s *searcher) scan(ctx context.Context, probe int, c *cell, query []float32, allow func(uint64) bool) error {
	d := len(query)
	s.query = vec.Grown(s.query, d)
	scale := vec.QuantizeInt8(s.query, query)
	decoded, lost := vec.LostInt8(query, s.query, scale)
	bound := float32(decoded*c.lost + lost + vec.DotSlack(d)*(decoded+lost)) // see vec.DotSlack; vectors have length 1
	for from := 0; from < len(c.ids); from += scanBlock {
		if from%scanned == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		dots := s.dots[:min(scanBlock, len(c.ids)-from)]
		vec.DotInt8Rows(dots, s.query, c.codes[from*d:(from+len(dots))*d])
		scales := c.scale[from : from+len(dots)]
		for i, dot := range dots {
			score := float32(dot) * (scale * scales[i])
			if score+bound < s.out || allow != nil && !allow(c.ids[from+i]) {
				continue
			}
			s.add(maybe{uint32(probe), uint32(from + i), score + bound}, score-bound)
		}
	}
	if len(s.near) > s.keep {
		s.prune()
	}
	return nil
}

// score computes exact scores for the candidates of a scan and keeps the best k.
func (b *Bridges) score(ctx context.Context, dst []Scored, probes []Probe, s *searcher, k int) ([]Scored, error) {
	base := len(dst)
	for i, n := range s.near {
		if i%scoredOnce == 0 && ctx.Err() != nil {
			return dst[:base], ctx.Err()
		}
		p := probes[n.probe]
		c, err := b.cell(p.Cell)
		if err != nil {
			return dst[:base], err
		}
		id := c.ids[n.slot]
		v := b.vectors(id)
		if len(v) != b.dim {
			return dst[:base], fmt.Errorf("%w: passage %d has a vector of length %d where %d numbers are needed; keep vectors as long as bridges that have them", modulate.ErrPassage, id, len(v), b.dim)
		}
		var score [1]float32
		vec.DotRows(score[:], v, p.Query)
		dst = append(dst, Scored{ID: id, Score: score[0]})
	}
	slices.SortFunc(dst[base:], func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return dst[:min(len(dst), base+k)], nil
}

// searcher is the reusable memory of a search.
type searcher struct {
	query []int8
	dots  []int32
	seen  []bool
	shortlist
}

var searches = sync.Pool{New: func() any { return &searcher{dots: make([]int32, scanBlock)} }}

func (s *searcher) release() { searches.Put(s) }
