package modulate

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// RLR is the regressed lexical representation, a closed form that goes
// beyond the paper. Let X be the centred passage vectors and B the 0/1 matrix
// of token presence. Ridge regression R = (XᵀX + λI)⁻¹ XᵀB gives each token t
// the direction R_t along which passages with t differ from the others. A
// query moves along l = Σ_t idf_t R_t over its distinct tokens:
//
//	q_out = norm(q + α·l/‖l‖)
//
// R is never formed: XᵀB_t = s_t − df_t·μ, so l = A⁻¹ Σ_t idf_t (s_t − df_t μ)
// with A = XᵀX + λI, from the Sums of the corpus.
var RLR = register(Variant{
	Name:     "rlr",
	Summary:  "regressed lexical directions of the corpus, closed form; needs no fit",
	Kind:     Additive,
	SetBased: true,

	ReadsSums: true,
	Shift: func(p Parts) (Shifter, error) {
		if p.Sums == nil {
			return nil, noSums("rlr")
		}
		return NewRLR(p.Sums, p.RLR)
	},
})

// RLROptions shape RLR. The zero value is a good default.
type RLROptions struct {
	// Alpha is the length of the shift against the unit query vector, > 0;
	// 0 means 0.5, and 0.7 in a stack with whitening. Semantic search begins to
	// suffer near 1.
	Alpha float64 `json:"alpha"`
	// Lambda is the ridge added to the scatter matrix, > 0; 0 means 1.
	Lambda float64 `json:"lambda"`
}

func (o RLROptions) withDefaults() (RLROptions, error) {
	if o.Alpha == 0 {
		o.Alpha = 0.5
	}
	if o.Lambda == 0 {
		o.Lambda = 1
	}
	if !(o.Alpha > 0 && o.Alpha <= 1e3) || !(o.Lambda >= 1e-6 && o.Lambda <= 1e9) {
		return o, fmt.Errorf("%w: rlr with alpha %v and lambda %v; alpha is in (0, 1000], lambda in [1e-6, 1e9]", ErrOptions, o.Alpha, o.Lambda)
	}
	return o, nil
}

// Regression is the additive part of RLR over Sums.
type Regression struct {
	sums    *Sums
	options RLROptions
}

// NewRLR returns the additive part over sums. It costs nothing, unless the ridge
// is not that of the sums: then it makes a factor, as Sums.Factor does. Options
// outside their range are an ErrOptions.
func NewRLR(sums *Sums, o RLROptions) (*Regression, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Lambda != sums.lambda {
		if sums, err = sums.settled(context.Background(), o.Lambda); err != nil {
			return nil, err
		}
	}
	return &Regression{sums, o}, nil
}

// Options are the options in use, defaults filled in.
func (r *Regression) Options() RLROptions { return r.options }

// idf is the weight of a token that df of n passages contain, the one BM25
// uses: ln(1 + (n − df + ½)/(df + ½)) > 0.
func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// noise bounds the rounding error of s_t − df_t·μ relative to its terms, where it
// is summed in float64, and rowNoise where it is kept in float32, by rounding. A
// sum below it has no direction. Vectors are known to float32 precision only,
// 6e-8.
const (
	noise    = 1e-8
	rowNoise = 1e-7
)

// AddShift adds α·l/‖l‖ to dst [d] and reports whether l has a direction: it
// has none for tokens that no passage, or every passage, contains; where in.Ctx
// ends first; where the sums are damaged (Sums.Err) or have no factor yet
// (Sums.Staleness). Cost O(d²/2 + k·d) for k steps, and up to d²/6 for each token.
// Safe for concurrent use.
func (r *Regression) AddShift(dst []float32, in Input) bool {
	s := r.sums
	if len(dst) != s.dim || !s.ready() {
		return false
	}
	w := rlrScratches.Get().(*rlrScratch)
	defer rlrScratches.Put(w)
	w.g = zeroed(w.g, s.dim)
	w.f = zeroed(w.f, s.dim)
	w.l = zeroed(w.l, s.dim)
	w.ids = in.Tokens.Lexical(w.ids[:0])

	room, err := s.direction(in.Ctx, w.g, w.ids)
	if err != nil {
		return false
	}
	var ss float64
	for _, x := range w.g {
		ss += x * x
	}
	if !(math.Sqrt(ss) > room) {
		return false
	}
	f := 1 / math.Sqrt(ss)
	for i, x := range w.g {
		w.f[i] = float32(x * f)
	}
	if err := s.inverse.solve(w.l, w.f); err != nil {
		s.damaged(err)
		return false
	}
	n := vec.Norm(w.l)
	if !(n > 0) || math.IsInf(float64(n), 0) {
		return false
	}
	vec.Axpy(dst, float32(r.options.Alpha)/n, w.l)
	return true
}

// direction adds Σ_t idf_t (s_t − df_t μ) to g and returns the length that
// rounding alone can have given it.
func (s *Sums) direction(ctx context.Context, g []float64, ids []int32) (room float64, err error) {
	var mean float64
	for _, t := range ids {
		p := s.tokens.At(int(t))
		n := s.df(int(t), p)
		if n <= 0 || n >= s.n { // a token of every passage says nothing: its term is exactly zero
			continue
		}
		if ctx != nil && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		df, w := float64(n), idf(s.n, n)
		if err := s.addSum(ctx, g, w, int(t), p); err != nil {
			return 0, err
		}
		mean += w * df / float64(s.n)
		part := noise
		if p.row != nil {
			part = rowNoise * math.Sqrt(float64(p.row.rounds))
		}
		room += part * w * df
	}
	if mean != 0 {
		for i, x := range s.total {
			g[i] -= mean * x
		}
	}
	return room, nil
}

// Modulate implements Modulator with RLR alone, as NewStack("rlr") does.
func (r *Regression) Modulate(dst []float32, in Input) []float32 {
	m := modulator{name: "rlr", dim: r.sums.dim, shift: []Shifter{r}}
	return m.Modulate(dst, in)
}

type rlrScratch struct {
	g    []float64
	f, l []float32
	ids  []int32
}

var rlrScratches = sync.Pool{New: func() any { return new(rlrScratch) }}
