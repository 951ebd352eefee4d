package local

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/modulate"
)

// cellSample is the number of cells that Recount fits again.
const cellSample = 16

// Recount fits a random sample of up to 16 cells again from the vectors and tokens, and
// compares: passages and tokens exactly, codes up to rounding. tokens returns false for a
// deleted passage; its cell is then left out. It returns how many cells were compared. Errors:
// modulate.ErrCorrupt, that of ctx, those of tokens.
func (b *Bridges) Recount(ctx context.Context, tokens func(id uint64) ([]int32, bool, error)) (recounted int, err error) {
	for _, i := range rand.Perm(len(b.cells)) {
		if recounted == cellSample {
			break
		}
		if ctx.Err() != nil {
			return recounted, ctx.Err()
		}
		whole, err := guarded(func() (bool, error) { return b.recount(ctx, i, tokens) })
		if err != nil {
			return recounted, err
		}
		if whole {
			recounted++
		}
	}
	return recounted, nil
}

// recount compares one cell with a new fit of its passages. It returns false for a cell that
// cannot be compared.
func (b *Bridges) recount(ctx context.Context, i int, tokens func(id uint64) ([]int32, bool, error)) (bool, error) {
	c, err := b.cell(i)
	if err != nil || len(c.ids) == 0 {
		return false, err
	}
	members := make([]member, len(c.ids))
	for s, id := range c.ids {
		list, ok, err := tokens(id)
		if err != nil || !ok {
			return false, err
		}
		if members[s].tokens, err = lexical(list, b.vocab); err != nil {
			return false, err
		}
		members[s].id = id
	}
	fresh, err := b.fit(ctx, members)
	if errors.Is(err, modulate.ErrPassage) { // a vector that is no longer what it was
		err = corrupt("cell %d: %v", i, err)
	}
	if err != nil {
		return false, err
	}
	if !slices.Equal(c.tokens, fresh.tokens) || !slices.Equal(c.starts, fresh.starts) || !slices.Equal(c.slots, fresh.slots) {
		return false, corrupt("cell %d has other tokens than its passages", i)
	}
	if !(c.lost >= fresh.lost*(1-1e-3)) {
		return false, corrupt("the bound of the codes of cell %d is %g, not %g", i, c.lost, fresh.lost)
	}
	for _, p := range []struct {
		what        string
		have, want  []int8
		scale, mine []float32
	}{
		{"vectors", c.codes, fresh.codes, c.scale, fresh.scale}, {"shifts", c.h, fresh.h, c.hScale, fresh.hScale}, {"sums", c.rows, fresh.rows, c.rowScale, fresh.rowScale},
	} {
		if !near(p.have, p.want, p.scale, p.mine) {
			return false, corrupt("the %s of cell %d are not those of its passages", p.what, i)
		}
	}
	return true, nil
}

// near reports whether two lists of codes stand for the same numbers: another machine may
// round a number to the next code.
func near(a, b []int8, scaleA, scaleB []float32) bool {
	if len(scaleA) != len(scaleB) || len(a) != len(b) {
		return false
	}
	for i, s := range scaleA {
		t, d := scaleB[i], len(a)/len(scaleA)
		for j := i * d; j < (i+1)*d; j++ {
			if off := s*float32(a[j]) - t*float32(b[j]); !(max(off, -off) <= 1.5*max(s, t)) {
				return false
			}
		}
	}
	return true
}
