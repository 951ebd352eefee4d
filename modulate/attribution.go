package modulate

import (
	"errors"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/fuse"
	"github.com/lexsem/lexsem/internal/vec"
)

// Attribution divides the score of one passage p among the tokens of the query. With N = ‖mid +
// shift‖ of Fuse,
//
//	q_out·p = Plain + Bias + Σ_t (Scale_t + Shift_t)
//
// up to float32 rounding.
type Attribution struct {
	Score  float64 // q_out·p
	Plain  float64 // q·p / N, the part of the unmodulated vector
	Bias   float64 // the part of b of Eq. 8, and of additive parts that cannot be divided among tokens
	Tokens []TokenShare
}

// TokenShare is the part of a score that one token contributes.
type TokenShare struct {
	ID int32
	// Shift is the token's part of the additive side. That side is linear in the tokens, so the share
	// is exact, with ‖l‖ and N held at their values.
	Shift float64
	// Scale is the token's part of the product with softmax(W·w + b). It is the integral of the
	// gradient along the straight path from no modulation to full modulation (integrated gradients,
	// Sundararajan et al. 2017), so all shares add up to the whole change.
	Scale float64
}

// Attributor is a Modulator that can divide a score among the tokens. All modulators of NewStack
// can.
type Attributor interface {
	Modulator
	// Attribute returns the shares of the score of passage, a unit vector [d]. Cost O(L·d + d²) for L
	// tokens. Safe for concurrent use.
	Attribute(in Input, passage []float32) Attribution
}

// shiftAttributor is a Shifter that can divide its shift among the tokens.
type shiftAttributor interface {
	// attribute calls add with each token's part of shift·passage.
	attribute(in Input, passage []float32, add func(id int32, share float64))
}

// Attribute implements Attributor.
func (m *modulator) Attribute(in Input, passage []float32) Attribution {
	out := m.Modulate(nil, in)
	a := Attribution{Score: dot64(out, passage), Plain: dot64(in.Dense, passage)}
	if len(in.Dense) != m.dim {
		return a
	}
	share := func(id int32) *TokenShare {
		i := slices.IndexFunc(a.Tokens, func(t TokenShare) bool { return t.ID == id })
		if i < 0 {
			i = len(a.Tokens)
			a.Tokens = append(a.Tokens, TokenShare{ID: id})
		}
		return &a.Tokens[i]
	}
	ids := in.Tokens.Lexical(nil)
	for _, id := range ids {
		share(id)
	}
	bridge, corpus := m.reach(ids)
	mid := slices.Clone(in.Dense)
	if m.bridge != nil && bridge > 0 {
		if lex := m.bridge.Weigh(Lexical{}, in); len(lex.IDs) > 0 {
			z := make([]float64, m.dim)
			m.projection.AddLogits(z, lex)
			gain := fuse.Bound(z, m.spread) * bridge
			shorten(z, bridge)
			g := pathGradient(in.Dense, z, passage)
			for i, id := range lex.IDs {
				if slot := m.projection.Slot(id); slot >= 0 {
					row := m.projection.rows[slot*m.dim : (slot+1)*m.dim]
					share(id % int32(m.bridge.vocab)).Scale += gain * float64(lex.Weights[i]) * dotMixed(g, row)
				}
			}
			a.Bias = gain * dotMixed(g, m.projection.bias)
			fuse.Fuse(mid, mid, in.Dense, z, nil)
		}
	}
	norm := 1.0
	if shift := make([]float32, m.dim); len(m.shift) > 0 && corpus > 0 {
		any := false
		for _, s := range m.shift {
			any = s.AddShift(shift, in) || any
		}
		vec.Scale(shift, float32(corpus))
		if any {
			fused := make([]float32, m.dim)
			norm = fuse.Fuse(fused, slices.Clone(mid), mid, nil, shift)
			for _, s := range m.shift {
				if s, ok := s.(shiftAttributor); ok {
					s.attribute(in, passage, func(id int32, x float64) { share(id).Shift += corpus * x / norm })
					continue
				}
				clear(shift)
				if s.AddShift(shift, in) {
					a.Bias += corpus * dot64(shift, passage)
				}
			}
		}
	}
	a.Plain /= norm
	a.Bias /= norm
	for i := range a.Tokens {
		a.Tokens[i].Scale /= norm
	}
	return a
}

// pathGradient is the mean over s in [0, 1] of the gradient of
// f(z) = (q ⊙ exp(z))·p / ‖q ⊙ exp(z)‖ at s·z.
func pathGradient(q []float32, z []float64, p []float32) []float64 {
	top := slices.Max(z)
	g, a := make([]float64, len(z)), make([]float64, len(z))
	for n, s := range pathNodes {
		var ss, ap float64
		for i, x := range z {
			a[i] = float64(q[i]) * math.Exp(s*(x-top))
			ss += a[i] * a[i]
			ap += a[i] * float64(p[i])
		}
		if ss == 0 {
			continue
		}
		norm := math.Sqrt(ss)
		for i, x := range a {
			g[i] += pathWeights[n] * (x*float64(p[i])/norm - ap/norm*x*x/ss)
		}
	}
	return g
}

// attribute implements shiftAttributor: with y = A⁻¹p, token t gives
// α/‖l‖ · idf_t (s_t − df_t μ)·y.
func (r *Regression) attribute(in Input, passage []float32, add func(id int32, share float64)) {
	d := r.sums.Dim()
	if len(passage) != d {
		return
	}
	ids := in.Tokens.Lexical(nil)
	idf := r.weights(nil, ids)
	g, f := make([]float64, d), make([]float32, d)
	l, y := make([]float32, d), make([]float32, d)
	size, err := r.sums.CrossScatter(in.Ctx, g, ids, idf)
	if err != nil || size == 0 {
		return // as in AddShift
	}
	for i, x := range g {
		f[i] = float32(x / size)
	}
	if errors.Join(r.sums.Solve(l, f), r.sums.Solve(y, passage)) != nil { // Sums.Err tells
		return
	}
	n := float64(vec.Norm(l))
	if n == 0 {
		return
	}
	for i, id := range ids {
		if _, err := r.sums.CrossScatter(in.Ctx, g, ids[i:i+1], idf[i:i+1]); err != nil {
			return
		}
		add(id, r.length()/n/size*dotMixed(g, y))
	}
}

func dot64(a, b []float32) float64 {
	var sum float64
	for i, x := range a[:min(len(a), len(b))] {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

func dotMixed(a []float64, b []float32) float64 {
	var sum float64
	for i, x := range b {
		sum += a[i] * float64(x)
	}
	return sum
}
