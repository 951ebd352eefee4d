package modulate

import (
	"math"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
)

// scatter is A = Σ(x−μ)(x−μ)ᵀ + λI of sums that go on changing, by its inverse,
// which the additive parts of one stack share.
type scatter struct {
	sums    *Sums
	lambda  float64
	mu      sync.Mutex // held while the inverse is brought up to date
	exact   inverse
	current atomic.Pointer[published]
}

// published is an inverse in the form queries read. It never changes.
type published struct {
	gen uint64
	inv []float32 // A⁻¹ [d × d]
}

func newScatter(sums *Sums, lambda float64) *scatter { return &scatter{sums: sums, lambda: lambda} }

// inverse returns A⁻¹ of the present sums. The caller holds the read lock of
// the sums, so they stand still.
func (c *scatter) inverse() []float32 {
	if p := c.current.Load(); p != nil && p.gen == c.sums.gen {
		return p.inv
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.current.Load(); p != nil && p.gen == c.sums.gen {
		return p.inv
	}
	c.exact.update(c.sums, c.lambda)
	inv := make([]float32, len(c.exact.inv))
	for i, x := range c.exact.inv {
		inv[i] = float32(x)
	}
	c.current.Store(&published{c.sums.gen, inv})
	return inv
}

// maxSteps is the number of rank-one steps after which the inverse is computed
// afresh, so that rounding cannot pile up.
const maxSteps = 1000

// inverse keeps A⁻¹ in float64 at some generation of the sums.
type inverse struct {
	gen   uint64
	steps int
	inv   []float64 // [d × d], nil before the first use
	u     []float64 // [d]
}

// update brings the inverse to the present generation of s: by rank-one steps
// (Sherman–Morrison, O(d²) each) where s remembers them, else by Cholesky
// (O(d³)).
func (v *inverse) update(s *Sums, lambda float64) {
	if v.inv != nil && v.gen >= s.from && v.steps+int(s.gen-v.gen) <= maxSteps {
		ok := true
		for _, c := range s.changes[v.gen-s.from:] {
			if ok = v.step(c); !ok {
				break
			}
			v.gen++
		}
		if ok {
			return
		}
	}
	v.fresh(s, lambda)
}

// step applies (A + w·x·xᵀ)⁻¹ = A⁻¹ − w·u·uᵀ/(1 + w·xᵀu) with u = A⁻¹x. It
// reports false where the denominator is too near to zero to be trusted; the
// inverse is then to be computed afresh.
func (v *inverse) step(c change) bool {
	d := len(c.v)
	v.u = zeroed(v.u, d)
	den := 1.0
	for i := range d {
		var sum float64
		for j, a := range v.inv[i*d : (i+1)*d] {
			sum += a * c.v[j]
		}
		v.u[i] = sum
		den += c.weight * sum * c.v[i]
	}
	if !(den > 1e-4) {
		return false
	}
	f := c.weight / den
	for i := range d {
		a := f * v.u[i]
		row := v.inv[i*d : (i+1)*d]
		for j, x := range v.u {
			row[j] -= a * x
		}
	}
	v.steps++
	return true
}

// fresh computes A⁻¹ by Cholesky. A = scatter + λI is positive definite by
// construction; should rounding have spoilt that, the ridge is raised until it
// holds.
func (v *inverse) fresh(s *Sums, lambda float64) {
	d := s.dim
	a := mat.NewSymDense(d, nil)
	for ridge := lambda; ; ridge *= 10 {
		for i := range d {
			for j := i; j < d; j++ {
				x := s.gram[i*d+j]
				if s.n > 0 {
					x -= s.total[i] * s.total[j] / float64(s.n)
				}
				if i == j {
					x += ridge
				}
				a.SetSym(i, j, x)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(a) {
			continue
		}
		var inv mat.SymDense
		if err := chol.InverseTo(&inv); err != nil && math.IsInf(chol.Cond(), 0) {
			continue // singular to working precision
		}
		v.inv = zeroed(v.inv, d*d)
		for i := range d {
			for j := i; j < d; j++ {
				x := inv.At(i, j)
				v.inv[i*d+j], v.inv[j*d+i] = x, x
			}
		}
		v.gen, v.steps = s.gen, 0
		return
	}
}
