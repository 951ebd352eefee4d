package ridge

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// The parts of regressions over a corpus. X and B are those of the package's text, A = XᵀX + λI.
// Column t of the cross-scatter XᵀB is s_t − df_t·μ.

// Lambda returns lambda, or 1 for 0. It returns ErrOptions outside [1e-6, 1e9].
func Lambda(lambda float64) (float64, error) {
	lambda = cmp.Or(lambda, 1)
	if !(lambda >= 1e-6 && lambda <= 1e9) {
		return lambda, fmt.Errorf("%w: a ridge lambda of %v; it is in [1e-6, 1e9]", ErrOptions, lambda)
	}
	return lambda, nil
}

// WithRidge returns Sums of the same passages with the ridge lambda (0 means 1): s itself if it
// has this ridge, else new Sums with their own factor. Cost and errors are those of Factor;
// ErrOptions as for Lambda.
func (s *Sums) WithRidge(ctx context.Context, lambda float64) (*Sums, error) {
	lambda, err := Lambda(lambda)
	if err != nil {
		return nil, err
	}
	if lambda == s.lambda {
		return s, nil
	}
	return s.settled(ctx, lambda)
}

// settled returns s with its own factor and a final ridge.
func (s *Sums) settled(ctx context.Context, lambda float64) (*Sums, error) {
	c := *s
	c.lambda = lambda
	f, err := c.Factor(ctx)
	if err != nil {
		return nil, err
	}
	c.factor, c.inverse, c.exact = f, f.inverse, true
	return &c, nil
}

// Ready reports whether Solve works: there is an inverse of this corpus, or of an earlier state of
// it (Staleness).
func (s *Sums) Ready() bool { return s.exact || s.factor.n > 0 }

// Solve writes A⁻¹·f to dst; both are [Dim] and do not overlap. Stale sums use the A of the last
// factor. Errors: ErrNoFactor unless Ready; ErrCorrupt, which Err then reports; ErrOptions for
// another length. Cost d²/2 + k·d multiplications for k steps since the factor.
func (s *Sums) Solve(dst, f []float32) error {
	if len(dst) != s.dim || len(f) != s.dim {
		return fmt.Errorf("%w: vectors of length %d and %d where the sums have dimension %d", ErrOptions, len(dst), len(f), s.dim)
	}
	if !s.Ready() {
		return ErrNoFactor
	}
	if err := s.inverse.solve(dst, f); err != nil {
		return s.damaged(err)
	}
	return nil
}

// Deviation is the root mean square distance of the passages from their mean, for vectors of
// length 1: in [0, 1]. Cost O(d).
func (s *Sums) Deviation() float64 {
	if s.n == 0 {
		return 0
	}
	var mean float64
	for _, x := range s.total {
		mean += x / float64(s.n) * (x / float64(s.n))
	}
	return math.Sqrt(max(0, 1-mean))
}

// noise bounds the rounding error of s_t − df_t·μ relative to its terms if it is summed in
// float64; rowNoise does so if it is stored in float32 with repeated rounding. A sum below it has
// no direction. Vectors are known to float32 precision only, 6e-8.
const (
	noise    = 1e-8
	rowNoise = 1e-7
)

// Centre writes x − μ, with μ the mean of all vectors, to dst; both are [Dim] and may be the same
// slice. It returns false if there is no direction: no passages, x equal to the mean up to
// rounding, or another length.
func (s *Sums) Centre(dst, x []float32) bool {
	if len(dst) != s.dim || len(x) != s.dim || s.n == 0 {
		return false
	}
	var ss float64
	for i, y := range x {
		c := float64(y) - s.total[i]/float64(s.n)
		dst[i] = float32(c)
		ss += c * c
	}
	return math.Sqrt(ss) > noise
}

// CrossScatter writes a weighted sum of columns of XᵀB to g [Dim],
//
//	g = Σ_k weights[k]·(s_t − df_t·μ),   t = ids[k],
//
// and returns ‖g‖, or 0 if rounding alone can explain that length. Tokens of no passage or of all
// passages add exactly 0. It checks ctx, if not nil, about every 100 µs. Errors, after which g is
// undefined: that of ctx; ErrCorrupt, which Err then reports; ErrOptions for another length. Cost
// O(d) for a token with a row, df_t·d for another, at most 3d²/20.
func (s *Sums) CrossScatter(ctx context.Context, g []float64, ids []int32, weights []float64) (float64, error) {
	if len(g) != s.dim || len(ids) != len(weights) {
		return 0, fmt.Errorf("%w: %d numbers for dimension %d, %d weights of %d tokens", ErrOptions, len(g), s.dim, len(weights), len(ids))
	}
	clear(g)
	var mean, room float64 // room is what rounding can have given
	for k, t := range ids {
		p := s.tokens.At(int(t))
		n := s.df(int(t), p)
		if n <= 0 || n >= s.n { // a token of every passage says nothing: its term is exactly zero
			continue
		}
		if ctx != nil && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		df, w := float64(n), weights[k]
		if err := s.addSum(ctx, g, w, int(t), p); err != nil {
			return 0, err
		}
		mean += w * df / float64(s.n)
		part := noise
		if p.row != nil {
			part = rowNoise * math.Sqrt(float64(p.row.rounds))
		}
		room += part * math.Abs(w) * df
	}
	if mean != 0 {
		for i, x := range s.total {
			g[i] -= mean * x
		}
	}
	var ss float64
	for _, x := range g {
		ss += x * x
	}
	if length := math.Sqrt(ss); length > room {
		return length, nil
	}
	return 0, nil
}

// Regress returns the ridge regression of "the passage has token t" on the vector of the passage.
// With row r of u [len(ids) × Dim] and b [len(ids)],
//
//	u_r·x + b_r = (x − μ)ᵀ A⁻¹ (s_t − df_t·μ) + df_t/N,   t = ids[r],
//
// estimates the probability that a passage with vector x has t; 0 for a token of no passage. Stale
// sums get a factor first. Cost O(len(ids)·d²), the summing of tokens without a row, and that of
// the factor. Errors: those of Factor; that of ctx; ErrCorrupt, which Err then reports; ErrOptions
// if there is no passage.
func (s *Sums) Regress(ctx context.Context, ids []int32) (u, b []float32, err error) {
	if s.n == 0 {
		return nil, nil, fmt.Errorf("%w: a regression over no passages; add some", ErrOptions)
	}
	if !s.exact {
		if s, err = s.settled(ctx, s.lambda); err != nil {
			return nil, nil, err
		}
	}
	d, n := s.dim, len(ids)
	a, err := s.inverse.matrix(d)
	if err != nil {
		return nil, nil, s.damaged(err)
	}
	mean := make([]float32, d)
	mu, sum := make([]float64, d), make([]float64, d)
	for i, x := range s.total {
		mu[i] = x / float64(s.n)
		mean[i] = float32(mu[i])
	}
	g := make([]float32, n*d) // columns of XᵀB, a row each
	for r, t := range ids {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		df := float64(s.DF(t))
		if df == 0 {
			continue
		}
		clear(sum)
		if err := s.addSum(ctx, sum, 1, int(t), s.tokens.At(int(t))); err != nil {
			return nil, nil, err
		}
		for i, x := range sum {
			g[r*d+i] = float32(x - df*mu[i])
		}
	}
	u, b = make([]float32, n*d), make([]float32, n)
	vec.MatMulNNParallel(u, g, a, n, d, d, 2)
	for r, t := range ids {
		b[r] = float32(float64(s.DF(t))/float64(s.n)) - vec.Dot(mean, u[r*d:(r+1)*d])
	}
	return u, b, nil
}
