package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/radix"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// fit makes a cell of its members, in any order. A passage without a vector, or with one that has
// another length or is not of unit length, is an ErrPassage. ctx is checked between steps of a few
// milliseconds. Cost O(n·d·min(n, d)) for n members: some 5 ms at d = 384 and n = 250.
func (b *Bridges) fit(ctx context.Context, members []member) (_ *cell, err error) {
	defer snapshot.Guard(&err)() // vectors may lie in a file
	c := &cell{}
	d, n := b.dim, len(members)
	if n == 0 {
		return c, nil
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.id, b.id) })
	c.ids, c.scale, c.codes = make([]uint64, n), make([]float32, n), make([]int8, n*d)
	x := make([]float32, 0, n*d)
	mean := make([]float32, d)
	for i, m := range members {
		v := b.vectors(m.id)
		if len(v) != d || !(math.Abs(float64(vec.Norm(v))-1) < 1e-2) {
			return nil, fmt.Errorf("%w: passage %d has a vector of length %d where a unit vector of %d numbers is needed; add passages to the index first", modulate.ErrPassage, m.id, len(v), d)
		}
		c.ids[i] = m.id
		code := c.codes[i*d : (i+1)*d]
		c.scale[i] = vec.QuantizeInt8(code, v)
		_, lost := vec.LostInt8(v, code, c.scale[i])
		c.lost = max(c.lost, lost)
		x = append(x, v...)
		vec.Axpy(mean, 1/float32(n), v)
	}
	for i := range n {
		vec.Axpy(x[i*d:(i+1)*d], -1, mean)
	}
	h, err := regress(ctx, x, n, d, b.o.Lambda)
	if err != nil {
		return nil, err
	}
	c.h, c.hScale = make([]int8, n*d), make([]float32, n)
	for i := range n {
		c.hScale[i] = vec.QuantizeInt8(c.h[i*d:(i+1)*d], h[i*d:(i+1)*d])
	}
	c.enter(members, h, d, b.o.TableFrom)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.complete()
	return c, nil
}

// regress returns x·(xᵀx + λI)⁻¹ = (xxᵀ + λI)⁻¹·x of the centred rows x [n × d], or the error of ctx.
func regress(ctx context.Context, x []float32, n, d int, lambda float64) ([]float32, error) {
	m := min(n, d)
	a, h := make([]float32, m*m), make([]float32, n*d)
	if n < d {
		byRows(ctx, n, func(from, rows int) { vec.MatMulNT(a[from*n:], x[from*d:], x, rows, n, d) })
	} else {
		vec.MatMulTN(a, x, x, d, d, n)
	}
	inverse, err := ridgeInverse(ctx, a, m, lambda)
	if err != nil {
		return nil, err
	}
	left, right := x, inverse
	if n < d {
		left, right = inverse, x
	}
	byRows(ctx, n, func(from, rows int) { vec.MatMulNN(h[from*d:], left[from*m:], right, rows, d, m) })
	return h, ctx.Err()
}

// byRows calls f with ranges of the n rows, and ends early with ctx.
func byRows(ctx context.Context, n int, f func(from, rows int)) {
	const most = 64
	for from := 0; from < n && ctx.Err() == nil; {
		rows := min(most, n-from)
		if n-from-rows < 4 { // of so few others would round otherwise
			rows = n - from
		}
		f(from, rows)
		from += rows
	}
}

// enter stores the tokens, with a row for those that at least from members have. A token of every
// member has no row: Σ h_p is zero, and so is its weight.
func (c *cell) enter(members []member, h []float32, d, from int) {
	var all []uint64 // the token, and the slot in the lower half
	most := uint32(0)
	for s, m := range members {
		for _, t := range m.tokens {
			all = append(all, uint64(t)<<32|uint64(s))
			most = max(most, t)
		}
	}
	radix.Sort(all, nil, 32, uint64(most))
	var lists [2][][]uint64 // of tokens with a row, and of the others
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n]>>32 == all[0]>>32 {
			n++
		}
		i := 1
		if n >= from && n < len(members) {
			i = 0
		}
		lists[i] = append(lists[i], all[:n])
		all = all[n:]
	}
	rows := len(lists[0])
	c.rows, c.rowScale = make([]int8, rows*d), make([]float32, rows)
	sum := make([]float32, d)
	c.starts = make([]uint32, 1, rows+len(lists[1])+1)
	for i, list := range slices.Concat(lists[0], lists[1]) {
		c.tokens = append(c.tokens, uint32(list[0]>>32))
		for _, p := range list {
			c.slots = append(c.slots, uint32(p))
		}
		c.starts = append(c.starts, uint32(len(c.slots)))
		if i >= rows {
			continue
		}
		clear(sum)
		for _, p := range list {
			vec.Axpy(sum, 1, h[int(uint32(p))*d:][:d])
		}
		c.rowScale[i] = vec.QuantizeInt8(c.rows[i*d:(i+1)*d], sum)
	}
	c.tokens, c.slots = slices.Clip(slices.Clone(c.tokens)), slices.Clip(slices.Clone(c.slots))
}

// ridgeInverse returns (a + λI)⁻¹ of the positive semi-definite a [n × n]; it reads the upper
// triangle. If rounding makes the matrix indefinite, the ridge is raised until it is definite.
func ridgeInverse(ctx context.Context, a []float32, n int, lambda float64) ([]float32, error) {
	ld := (n + 7) &^ 7
	wide := make([]float64, ld*ld)
	for by := lambda; ; by *= 10 {
		for i := range n {
			for j := i; j < n; j++ {
				wide[i*ld+j] = float64(a[i*n+j])
			}
			wide[i*ld+i] += by
		}
		err := ridge.Invert(ctx, wide, n, ld)
		if errors.Is(err, ridge.ErrIndefinite) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out := make([]float32, n*n)
		for i := range n {
			for j := i; j < n; j++ {
				v := float32(wide[i*ld+j])
				out[i*n+j], out[j*n+i] = v, v
			}
		}
		return out, nil
	}
}
