package modulate

import (
	"math"
	"sync"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
)

// whitenVariant moves a query along its whitened vector, a closed form that the paper does not have. The
// direction does not depend on any single token or passage:
//
//	q_out = norm(q + ρ·β·y/‖y‖),   y = A⁻¹(q − μ),   β = 0.5
//
// μ and A = XᵀX + λI are those of RLR. y amplifies the directions in which the corpus varies
// little; these mostly distinguish passages on one subject. So it also helps for passages that
// the statistics have not seen.
var whitenVariant = Register(Variant{
	Name: "whiten",
	Kind: Additive,

	ReadsSums: true,
	Shift: func(p Parts) (Shifter, error) {
		if p.Sums == nil {
			return nil, noSums("whiten")
		}
		r, err := newRLR(p.Sums, p.RLR) // with its ridge
		if err != nil {
			return nil, err
		}
		return whitening{r.sums}, nil
	},
})

// whitenLength is β. Between 0.3 and 1 copied words gain more, but judged questions vary more
// (docs/decisions).
const whitenLength = 0.5

// alphaBesideWhiten is α of RLR in a stack with whitening, since the whitening shift is part of
// the length of the sum.
const alphaBesideWhiten = 0.7

type whitening struct{ sums *ridge.Sums }

// AddShift implements Shifter. There is no shift for a query without a token of weight, for an
// empty corpus or one without a factor, or if q is the mean. Cost O(L² + d²/2 + k·d) for k steps.
func (w whitening) AddShift(dst []float32, in Input) bool {
	d := w.sums.Dim()
	if len(dst) != d {
		return false
	}
	r := whitenScratches.Get().(*whitenScratch)
	defer whitenScratches.Put(r)
	if r.ids = in.Tokens.Lexical(r.ids[:0]); len(r.ids) == 0 {
		return false
	}
	r.c, r.u = zeroed(r.c, d), zeroed(r.u, d)

	if !w.sums.Centre(r.c, in.Dense) || w.sums.Solve(r.u, r.c) != nil { // Sums.Err tells
		return false
	}
	n := vec.Norm(r.u)
	if !(n > 0) || math.IsInf(float64(n), 0) {
		return false
	}
	vec.Axpy(dst, whitenLength/n, r.u)
	return true
}

type whitenScratch struct {
	c, u []float32
	ids  []int32
}

var whitenScratches = sync.Pool{New: func() any { return new(whitenScratch) }}
