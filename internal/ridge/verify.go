package ridge

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lexsem/lexsem/internal/vec"
)

// rowSample is the number of rows that Verify recounts.
const rowSample = 256

// Sampled returns how many stored token sums Verify recounts, in a new random sample each time,
// and how many exist.
func (s *Sums) Sampled() (recounted, of int) {
	for _, p := range s.tokens.All {
		if p.row != nil {
			of++
		}
	}
	return min(of, rowSample), of
}

// Verify recounts the postings of each token, the sum of all vectors and a sample of the rows
// (Sampled). If the inverse belongs to this corpus, it also checks A·(A⁻¹v) = v for random v.
// Lists checks the postings against the passages' tokens. Errors: ErrCorrupt with the first
// mistake; that of ctx, within milliseconds. Cost: about three reads of all vectors, one of all
// postings, and one of the vectors of each sampled token.
func (s *Sums) Verify(ctx context.Context) error {
	if n := s.slots() - s.dead.Len(); n != s.n {
		return s.damaged(fmt.Errorf("%d passages, where %d are counted", n, s.n))
	}
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	need, left := s.Sampled()
	for t := range s.VocabSize() {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, seen := s.tokens.At(t), 0
		err := s.each(t, p, func(slot int) bool {
			if !s.dead.Has(uint64(slot)) {
				seen++
			}
			return true
		})
		if err != nil {
			return err
		}
		if df := s.df(t, p); df != seen {
			return s.damaged(fmt.Errorf("token %d is in %d passages, where %d are counted", t, seen, df))
		}
		if p.row == nil {
			continue
		}
		if r.IntN(left) < need {
			need--
			if err := s.verifyRow(ctx, t, p); err != nil {
				return err
			}
		}
		left--
	}
	return s.verifyVectors(ctx, r)
}

func (s *Sums) verifyRow(ctx context.Context, t int, p posted) error {
	kept, err := s.rowOf(p.row)
	if err != nil {
		return err
	}
	fresh, err := s.sumRow(ctx, t, p)
	if err != nil {
		return err
	}
	vec.Axpy(fresh.sum, -1, kept)
	if miss := float64(vec.Norm(fresh.sum)); !(miss <= 1e-5*float64(s.df(t, p))) {
		return s.damaged(fmt.Errorf("the sum of token %d is off by %g", t, miss))
	}
	return nil
}

func (s *Sums) verifyVectors(ctx context.Context, r *rand.Rand) error {
	if s.n == 0 {
		return nil
	}
	const samples = 2
	var v, u [samples][]float32
	var back [samples][]float64
	for k := range samples {
		v[k], u[k], back[k] = make([]float32, s.dim), make([]float32, s.dim), make([]float64, s.dim)
		for i := range v[k] {
			// Of either sign and never near 0, so that one wrong number always shows; of
			// random size, so that several do not cancel.
			v[k][i] = (0.5 + r.Float32()) * float32(1-2*r.IntN(2))
		}
		if err := s.inverse.solve(u[k], v[k]); err != nil {
			return s.damaged(err)
		}
		vec.AxpyWide(back[k], s.lambda, u[k])
	}
	total, i := make([]float64, s.dim), 0
	var space []float32
	for id := range s.alive {
		if i++; i&255 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x, err := s.vector(id, &space)
		if err != nil {
			return err
		}
		vec.AxpyWide(total, 1, x)
		c := off(x, s.total, s.n)
		for k := range samples {
			vec.AxpyWide(back[k], float64(vec.Dot(c, u[k])), c)
		}
	}
	for i, x := range total {
		if !(math.Abs(x-s.total[i]) <= 1e-6*float64(s.n)) {
			return s.damaged(fmt.Errorf("component %d of the sum of all vectors is %g, not %g", i, x, s.total[i]))
		}
	}
	for k := range samples {
		vec.AxpyWide(back[k], -1, v[k])
		var miss float64
		for _, x := range back[k] {
			miss += x * x
		}
		if rel := math.Sqrt(miss) / float64(vec.Norm(v[k])); s.exact && !(rel <= 1e-2) {
			return s.damaged(fmt.Errorf("the inverse is off by %g", rel))
		}
	}
	return nil
}
