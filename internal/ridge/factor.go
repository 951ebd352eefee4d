package ridge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// Factor is the inverse of the scatter of one corpus with one ridge. It is immutable.
type Factor struct {
	inverse
	history *history
	gen     uint64
	n       int
	later   func() error // makes it, where it was not made at once
}

// steps is the maximum number of rank-one steps of an inverse: with more, a query would spend more
// time on them than on the factor itself, whose triangle has d²/2 numbers. A small corpus without
// a factor is represented only by its steps.
func (s *Sums) steps() int {
	if s.inverse.packed == nil {
		return max(min(256, 2*s.dim), s.dim/4)
	}
	return max(64, s.dim/4)
}

// scatterBlock is the number of passages that are multiplied in float32 before their sum is added
// to the scatter in float64.
const scatterBlock = 256

// Factor computes the factor of the corpus, for WithFactor of these Sums or of Sums made from
// them. It reads every vector and uses one core. Cost O(N·d² + d³): for N = 2,000 some 10 ms at d
// = 384 and 2 s at 3,072. Memory 8·d² while it runs, then 2·d², or 4·N·d for fewer than d/4
// passages. Errors: ErrCorrupt if a vector is missing; that of ctx, within some 10 ms.
func (s *Sums) Factor(ctx context.Context) (*Factor, error) {
	f := &Factor{inverse: inverse{lambda: s.lambda}, history: s.history, gen: s.gen, n: s.n}
	if s.n <= s.dim/4 && s.totals == nil {
		return f, s.dual(ctx, f)
	}
	ld := (s.dim + 7) &^ 7
	a := make([]float64, ld*ld)
	for ridge := s.lambda; ; ridge *= 10 {
		if err := s.scatter(ctx, a, ld); err != nil {
			return nil, err
		}
		trace := 0.0
		for i := range s.dim {
			trace += a[i*ld+i]
			a[i*ld+i] += ridge
		}
		if !(trace < 1e30 && ridge <= max(trace, s.lambda)) {
			return nil, s.damaged(fmt.Errorf("the vectors spread by %g", trace))
		}
		err := Invert(ctx, a, s.dim, ld)
		if errors.Is(err, ErrIndefinite) { // rounding, where λ is tiny
			clear(a)
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	f.packed = make([]float32, 0, s.dim*(s.dim+1)/2)
	for i := range s.dim {
		for _, x := range a[i*ld+i : i*ld+s.dim] {
			f.packed = append(f.packed, float32(x))
		}
	}
	return f, nil
}

// cheap is the work for a factor, in multiplications, up to which sums are made anew rather than kept in a file: some 20 ms.
const cheap = 1 << 30

// Cheap reports whether sums of n passages of dimension d, and their factor, are made in some milliseconds.
func Cheap(n, d int) bool { return n*d*d+d*d*d <= cheap }

// Later returns s with a factor that Await makes, or the first call that needs it.
func (s *Sums) Later(ctx context.Context) (*Sums, error) {
	if s.exact {
		return s, nil
	}
	if s.n <= s.dim/4 {
		return s.settled(ctx, s.lambda)
	}
	c, f := *s, &Factor{inverse: inverse{lambda: s.lambda}, history: s.history, gen: s.gen, n: s.n}
	f.packed = make([]float32, s.dim*(s.dim+1)/2)
	f.later = sync.OnceValue(func() error {
		made, err := s.Factor(context.Background())
		if err == nil {
			copy(f.packed, made.packed)
		}
		return err
	})
	f.check = f.later
	c.factor, c.inverse, c.exact = f, f.inverse, true
	return &c, nil
}

// Await makes the factor of Later, if there is one to be made. The vectors must be there until it returns.
func (s *Sums) Await() error {
	if s.factor.later == nil {
		return nil
	}
	return s.factor.later()
}

// dual makes the inverse for few passages from their steps; memory and work are proportional to
// the number of passages.
func (s *Sums) dual(ctx context.Context, f *Factor) error {
	total, n := make([]float64, s.dim), 0
	var space []float32
	for id := range s.alive {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, err := s.vector(id, &space)
		if err != nil {
			return err
		}
		c := arrival(x, total, n)
		u := make([]float32, s.dim)
		if err := f.mul([][]float32{u}, [][]float32{c.v}); err != nil {
			return err
		}
		next, ok := f.step(c, u)
		if !ok {
			return fmt.Errorf("%w: passage %d is out of all proportion", ErrPassage, id)
		}
		f.inverse = next
		vec.AxpyWide(total, 1, x)
		n++
	}
	return nil
}

// arrival is the change of the scatter when x is added to n vectors with the given sum:
// n/(n+1)·(x−μ)(x−μ)ᵀ, with μ the mean before.
func arrival(x []float32, total []float64, n int) change {
	if n == 0 {
		return change{v: make([]float32, len(x))}
	}
	return change{off(x, total, n), float64(n) / float64(n+1)}
}

// departure returns the change of the scatter when x is removed.
func departure(x []float32, total []float64, n int) change {
	if n < 2 {
		return change{v: make([]float32, len(x))}
	}
	return change{off(x, total, n), -float64(n) / float64(n-1)}
}

// off returns x − μ.
func off(x []float32, total []float64, n int) []float32 {
	v, f := make([]float32, len(x)), 1/float64(n)
	for i, y := range x {
		v[i] = float32(float64(y) - f*total[i])
	}
	return v
}

// scatter adds Σ(x−μ)(x−μ)ᵀ to the upper triangle of a, whose rows are ld apart.
func (s *Sums) scatter(ctx context.Context, a []float64, ld int) error {
	if s.totals != nil {
		s.totals.scatter(a, ld)
		return nil
	}
	const wide = 256
	panels := (s.dim + wide - 1) / wide
	width := func(p int) int { return min(wide, s.dim-p*wide) }
	block := make([]float32, scatterBlock*s.dim) // panels of columns, one after the other
	tile := make([]float32, wide*wide)
	mean := make([]float64, s.dim)
	for i, x := range s.total {
		mean[i] = x / float64(max(s.n, 1))
	}
	var ids []uint64
	var space []float32
	flush := func() error {
		k := len(ids)
		for r, id := range ids {
			x, err := s.vector(id, &space)
			if err != nil {
				return err
			}
			for p := range panels {
				w := width(p)
				row := block[p*wide*k+r*w:][:w]
				for i := range row {
					row[i] = float32(float64(x[p*wide+i]) - mean[p*wide+i])
				}
			}
		}
		for p := range panels {
			for q := p; q < panels; q++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				m, n := width(p), width(q)
				vec.MatMulTN(tile, block[p*wide*k:][:m*k], block[q*wide*k:][:n*k], m, n, k)
				for i := range m {
					to := a[(p*wide+i)*ld+q*wide:][:n]
					for j, x := range tile[i*n : (i+1)*n] {
						to[j] += float64(x)
					}
				}
			}
		}
		ids = ids[:0]
		return nil
	}
	for id := range s.alive {
		if ids = append(ids, id); len(ids) == scatterBlock {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return flush()
}

// WithFactor returns these Sums with the factor f of themselves or of an ancestor. The changes
// since f become steps, each O(d²), if they are still known; else the result is stale. ErrOptions
// for a factor of another corpus or ridge. It must not run concurrently with other methods that
// make the next Sums.
func (s *Sums) WithFactor(f *Factor) (*Sums, error) {
	if f.history != s.history || f.lambda != s.lambda || f.gen > s.gen {
		return nil, fmt.Errorf("%w: a factor of another corpus", ErrOptions)
	}
	c := *s
	c.factor, c.inverse, c.exact = f, f.inverse, true
	c.inverse.q, c.inverse.c = clip(f.q), clip(f.c) // several Sums may follow one factor
	return &c, c.follow(context.Background(), s.gen-f.gen)
}

// follow applies the last n changes to the inverse. It checks ctx after every few of them.
func (s *Sums) follow(ctx context.Context, n uint64) error {
	if n > uint64(len(s.log)) {
		s.exact = false
		return nil
	}
	const together = 8 // products, whose vectors stay in the cache
	for cs := s.log[uint64(len(s.log))-n:]; len(cs) > 0; cs = cs[min(together, len(cs)):] {
		if err := ctx.Err(); err != nil {
			return err
		}
		var us, fs [][]float32
		for _, c := range cs[:min(together, len(cs))] {
			us, fs = append(us, make([]float32, s.dim)), append(fs, c.v)
		}
		if err := s.inverse.mul(us, fs); err != nil {
			return s.damaged(err)
		}
		for i, u := range us {
			if s.exact = len(s.inverse.q) < len(s.factor.q)+s.steps(); s.exact {
				s.inverse, s.exact = s.inverse.step(cs[i], u)
			}
			if !s.exact {
				return nil
			}
		}
	}
	return nil
}

func clip[T any](s []T) []T { return s[:len(s):len(s)] }
