package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/modulate"
)

// Source is a set of passages to build Bridges from.
type Source struct {
	// IDs are the passages, each once, in any order.
	IDs []uint64
	// Tokens returns the tokens of lexical weight of a passage (encoder.Tokens.Lexical). It is called
	// once for each passage, by ascending id, from one goroutine. Its error ends the build.
	Tokens func(id uint64) ([]int32, error)
	// Vectors returns the unit vector of a passage, see New.
	Vectors func(id uint64) []float32
}

// Build makes the bridges of a set of passages, for vectors of length dim and a vocabulary of
// vocab tokens. It stops soon after ctx is done. Errors as New and Editor.Add. Cost O(n·√cells·d)
// for the partition plus a fit of each cell. All tokens are in memory meanwhile.
func Build(ctx context.Context, dim, vocab int, s Source, o Options) (*Bridges, error) {
	b, err := New(dim, vocab, s.Vectors, o)
	if err != nil {
		return nil, err
	}
	ids := slices.Clone(s.IDs)
	slices.Sort(ids)
	all := make([]member, len(ids))
	for i, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i > 0 && ids[i-1] == id {
			return nil, fmt.Errorf("%w: passage %d is there twice", modulate.ErrPassage, id)
		}
		tokens, err := s.Tokens(id)
		if err != nil {
			return nil, fmt.Errorf("tokens of passage %d: %w", id, err)
		}
		if all[i].tokens, err = lexical(tokens, vocab); err != nil {
			return nil, fmt.Errorf("passage %d: %w", id, err)
		}
		all[i].id = id
	}
	return b.build(ctx, all)
}

// Repartition returns bridges of the same passages over a new partition of their vectors. b does
// not change. Cost and errors as Build.
func (b *Bridges) Repartition(ctx context.Context) (*Bridges, error) {
	all, err := guarded(func() ([]member, error) { return b.all(ctx) })
	if err != nil {
		return nil, err
	}
	return b.build(ctx, all)
}

// all returns the passages, by id.
func (b *Bridges) all(ctx context.Context) ([]member, error) {
	all := make([]member, 0, b.n)
	for i := range b.cells {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := b.cell(i)
		if err != nil {
			return nil, err
		}
		all = append(all, c.members()...)
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}

// build makes bridges with the options of b for the passages all, which are sorted by id.
func (b *Bridges) build(ctx context.Context, all []member) (*Bridges, error) {
	p, k := oneCell(b.dim), b.o.Cells
	if k == 0 {
		k = CellsFor(len(all))
	}
	if len(all) > 0 {
		if k > len(all) {
			return nil, fmt.Errorf("%w: %d cells of %d passages; ask for at most one a passage", modulate.ErrOptions, k, len(all))
		}
		var err error
		p, err = newPartition(ctx, b.dim, len(all), k, func(i int) []float32 { return b.vectors(all[i].id) }, b.o.Seed, b.o.Workers)
		if err != nil {
			return nil, err
		}
	}
	cell, err := b.place(ctx, p, all)
	if err != nil {
		return nil, err
	}
	return b.over(ctx, p, all, cell)
}

// place returns the cell of each passage.
func (b *Bridges) place(ctx context.Context, p *partition, all []member) ([]int, error) {
	const block = 8192
	cell := make([]int, len(all))
	rows := make([]float32, 0, min(block, len(all))*b.dim)
	for from := 0; from < len(all); from += block {
		part := all[from:min(from+block, len(all))]
		rows = rows[:0]
		for _, m := range part {
			v := b.vectors(m.id)
			if len(v) != b.dim {
				return nil, fmt.Errorf("%w: passage %d has a vector of length %d where %d numbers are needed; add passages to the index first", modulate.ErrPassage, m.id, len(v), b.dim)
			}
			rows = append(rows, v...)
		}
		if err := p.assign(ctx, cell[from:from+len(part)], rows, b.o.Workers); err != nil {
			return nil, err
		}
	}
	return cell, nil
}

// over makes bridges with the options of b for the passages all, sorted by id, in the given cells
// of p.
func (b *Bridges) over(ctx context.Context, p *partition, all []member, cell []int) (*Bridges, error) {
	next := &Bridges{o: b.o, dim: b.dim, vocab: b.vocab, vectors: b.vectors, partition: p, n: len(all)}
	members := make([][]member, p.cells())
	var r run
	for i, m := range all {
		members[cell[i]] = append(members[cell[i]], m)
		r.ids, r.cells = append(r.ids, m.id), append(r.cells, uint32(cell[i]))
	}
	next.places = places{}.with(r)
	fits, err := next.fitAll(ctx, members)
	if err != nil {
		return nil, err
	}
	for _, c := range fits {
		next.cells = append(next.cells, newSlot(c))
	}
	next.words = makeDirectory(b.vocab, fits)
	return next, nil
}

func (b *Bridges) fitAll(ctx context.Context, members [][]member) ([]*cell, error) {
	fits := make([]*cell, len(members))
	err := parallel(ctx, b.o.Workers, len(fits), func(i int) (err error) {
		fits[i], err = b.fit(ctx, members[i])
		members[i] = nil
		if err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
		return nil
	})
	return fits, err
}
