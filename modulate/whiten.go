package modulate

import (
	"math"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate/ridge"
)

// Whiten moves a query along its whitened self, a closed form that goes beyond
// the paper and knows no passage and no word:
//
//	q_out = norm(q + β·u/‖u‖),   u = A⁻¹(q − μ)
//
// with μ and A = XᵀX + λI those of RLR: the mean and the scatter of the corpus. Most of
// what tells two passages on one subject apart lies in directions in which the
// corpus varies little; u raises these. The sums follow the corpus, but what a
// query gains rests on how passages of its kind vary, not on having seen the
// one it seeks: it is as large for passages that the sums have never seen.
var Whiten = Register(Variant{
	Name:     "whiten",
	Summary:  "the directions in which the corpus varies little, raised; needs no fit and serves unseen passages",
	Kind:     Additive,
	SetBased: true,

	ReadsSums: true,
	Shift: func(p Parts) (Shifter, error) {
		if p.Sums == nil {
			return nil, noSums("whiten")
		}
		r, err := NewRLR(p.Sums, p.RLR) // with its ridge
		if err != nil {
			return nil, err
		}
		return whitening{r.sums}, nil
	},
})

// whitenLength is β. Between 0.3 and 1 copied words gain more and judged
// questions waver more (docs/method.md).
const whitenLength = 0.5

// alphaBesideWhiten is α of RLR in a stack with whitening, whose shift takes its
// share of the length of the sum.
const alphaBesideWhiten = 0.7

type whitening struct{ sums *ridge.Sums }

// AddShift implements Shifter. There is no shift for a query without a token of
// weight, of an empty corpus or one without a factor, or where q is the mean. Cost
// O(L² + d²/2 + k·d) for k steps.
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
