package modulate

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
)

// RLR is the ridge lexical representation, a closed form that the paper does not have. X is the matrix of
// centred passage vectors; B is 1 where a passage has a token, else 0. Ridge regression R = (XᵀX + λI)⁻¹ XᵀB
// gives for each token t the direction R_t in which passages with t differ from the others. The query moves
// along l = Σ_t idf_t R_t over its distinct tokens:
//
//	q_out = norm(q + ρ·α·l/‖l‖)
//
// ρ is the share of the query, by idf, that the corpus knows (reach.go).
// R is never formed: l = A⁻¹ Σ_t idf_t (s_t − df_t μ) with A = XᵀX + λI, from ridge.Sums.
var RLR = Register(Variant{
	Name: "rlr",
	Kind: Additive,

	ReadsSums: true,
	Shift: func(p Parts) (Shifter, error) {
		if p.Sums == nil {
			return nil, noSums("rlr")
		}
		return newRLR(p.Sums, p.RLR)
	},
})

// RLROptions configure RLR. The zero value is the default.
type RLROptions struct {
	// Alpha is the length of the shift for a query of known tokens, in (0, 1000], if the query vector has length 1. 0
	// means 0.5; 0.7 in a stack with whitening; 0.6 if Centred.
	Alpha float64 `json:"alpha"`
	// Centred multiplies Alpha by the root mean square distance of the passages from their mean. It is
	// for spaces whose vectors share a long mean, such as means of image patches.
	Centred bool `json:"centred,omitempty"`
	// Lambda is the ridge added to the scatter matrix, in [1e-6, 1e9]; 0 means 1, and 0.01 if Centred.
	Lambda float64 `json:"lambda"`
}

// centredLambda is the ridge for spaces whose vectors share a long mean: their passages differ in directions of
// small scatter, which a ridge of 1 would flatten.
const centredLambda = 0.01

// Ridge is Lambda, or the default if Lambda is 0 and Centred is set. Sums with this ridge need no second
// factor.
func (o RLROptions) Ridge() float64 {
	if o.Lambda == 0 && o.Centred {
		return centredLambda
	}
	return o.Lambda
}

func (o RLROptions) withDefaults() (RLROptions, error) {
	switch {
	case o.Alpha == 0 && o.Centred:
		o.Alpha = 0.6
	case o.Alpha == 0:
		o.Alpha = 0.5
	}
	if !(o.Alpha > 0 && o.Alpha <= 1e3) {
		return o, fmt.Errorf("%w: rlr with alpha %v; it is in (0, 1000]", ErrOptions, o.Alpha)
	}
	var err error
	if o.Lambda, err = ridge.Lambda(o.Ridge()); err != nil {
		return o, fmt.Errorf("rlr: %w", err)
	}
	return o, nil
}

// Regression is the additive part of RLR over ridge.Sums.
type Regression struct {
	sums    *ridge.Sums
	options RLROptions
}

// newRLR returns the additive part over sums. If the ridge of o differs from that of the sums, it costs a new
// factor (ridge.Sums.WithRidge), else nothing. ErrOptions for options out of range.
func newRLR(sums *ridge.Sums, o RLROptions) (*Regression, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if sums, err = sums.WithRidge(context.Background(), o.Lambda); err != nil {
		return nil, err
	}
	return &Regression{sums, o}, nil
}

// Options returns the options in use, with defaults filled in.
func (r *Regression) Options() RLROptions { return r.options }

// AddShift adds α·l/‖l‖ to dst [d] and reports whether it did. There is no shift if every token is
// in no passage or in all, if in.Ctx ends first, if the sums are damaged (ridge.Sums.Err), or if
// they have no factor yet. Cost O(d²/2 + k·d) for k steps since the factor, and up to 3d²/20 for
// each token. Safe for concurrent use.
func (r *Regression) AddShift(dst []float32, in Input) bool {
	d := r.sums.Dim()
	if len(dst) != d || !r.sums.Ready() {
		return false
	}
	w := rlrScratches.Get().(*rlrScratch)
	defer rlrScratches.Put(w)
	w.g = zeroed(w.g, d)
	w.f = zeroed(w.f, d)
	w.l = zeroed(w.l, d)
	w.ids = in.Tokens.Lexical(w.ids[:0])
	w.idf = r.weights(w.idf[:0], w.ids)

	size, err := r.sums.CrossScatter(in.Ctx, w.g, w.ids, w.idf)
	if err != nil || size == 0 {
		return false
	}
	f := 1 / size
	for i, x := range w.g {
		w.f[i] = float32(x * f)
	}
	if err := r.sums.Solve(w.l, w.f); err != nil { // Sums.Err tells
		return false
	}
	n := vec.Norm(w.l)
	if !(n > 0) || math.IsInf(float64(n), 0) {
		return false
	}
	vec.Axpy(dst, float32(r.length())/n, w.l)
	return true
}

// length is the length of a shift.
func (r *Regression) length() float64 {
	if r.options.Centred {
		return r.options.Alpha * r.sums.Deviation()
	}
	return r.options.Alpha
}

// weights appends idf_t of each token to dst.
func (r *Regression) weights(dst []float64, ids []int32) []float64 {
	for _, t := range ids {
		dst = append(dst, r.sums.IDF(t))
	}
	return dst
}

// Modulate implements Modulator with RLR alone, as NewStack("rlr") does.
func (r *Regression) Modulate(dst []float32, in Input) []float32 {
	m := modulator{name: "rlr", dim: r.sums.Dim(), shift: []Shifter{r}, sums: r.sums}
	return m.Modulate(dst, in)
}

type rlrScratch struct {
	g, idf []float64
	f, l   []float32
	ids    []int32
}

var rlrScratches = sync.Pool{New: func() any { return new(rlrScratch) }}
