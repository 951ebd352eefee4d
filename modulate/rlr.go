package modulate

import (
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
// with A = XᵀX + λI, from Sums that follow the corpus exactly.
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
		r, err := NewRLR(p.Sums, p.RLR)
		if err == nil && p.scatter != nil {
			r.scatter = p.scatter
		}
		return r, err
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

// Regression is the additive part of RLR over Sums. It follows them: after a change
// the next query brings the inverse up to date, by rank-one steps for a few
// single changes and by Cholesky else, once however many queries wait.
type Regression struct {
	*scatter
	options RLROptions
}

// NewRLR returns the additive part over sums. Options outside their range are an ErrOptions.
func NewRLR(sums *Sums, o RLROptions) (*Regression, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Regression{newScatter(sums, o.Lambda), o}, nil
}

// Options are the options in use, defaults filled in.
func (r *Regression) Options() RLROptions { return r.options }

// idf is the weight of a token that df of n passages contain, the one BM25
// uses: ln(1 + (n − df + ½)/(df + ½)) > 0.
func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5))
}

// noise bounds the rounding error of s_t − df_t·μ relative to its terms; a sum
// below it has no direction. Vectors are known to float32 precision only, 6e-8.
const noise = 1e-8

// AddShift adds α·l/‖l‖ to dst [d] and reports whether l has a direction: it
// has none for tokens that no passage, or every passage, contains. Cost
// O(L·d + d²), and the update of the inverse after a change of the corpus.
// Safe for concurrent use.
func (r *Regression) AddShift(dst []float32, in Input) bool {
	s := r.sums
	if len(dst) != s.dim {
		return false
	}
	w := rlrScratches.Get().(*rlrScratch)
	defer rlrScratches.Put(w)
	w.g = zeroed(w.g, s.dim)
	w.f = zeroed(w.f, s.dim)
	w.l = zeroed(w.l, s.dim)
	w.ids = in.Tokens.Lexical(w.ids[:0])

	s.mu.RLock()
	defer s.mu.RUnlock()
	size := s.direction(w.g, w.ids)
	var ss float64
	for _, x := range w.g {
		ss += x * x
	}
	if !(math.Sqrt(ss) > noise*size) {
		return false
	}
	f := 1 / math.Sqrt(ss)
	for i, x := range w.g {
		w.f[i] = float32(x * f)
	}
	vec.DotRows(w.l, w.f, r.inverse())
	n := vec.Norm(w.l)
	if !(n > 0) || math.IsInf(float64(n), 0) {
		return false
	}
	vec.Axpy(dst, float32(r.options.Alpha)/n, w.l)
	return true
}

// direction adds Σ_t idf_t (s_t − df_t μ) to g and returns the sum of the
// lengths its terms can have. The caller holds the read lock.
func (s *Sums) direction(g []float64, ids []int32) float64 {
	var mean, size float64
	for _, t := range ids {
		// A token of every passage says nothing: its term is exactly zero.
		if t < 0 || int(t) >= len(s.df) || s.df[t] == 0 || int(s.df[t]) == s.n {
			continue
		}
		df := float64(s.df[t])
		w := idf(s.n, int(s.df[t]))
		row := s.rows[s.slot[t]][:len(g)]
		for i, x := range row {
			g[i] += w * x
		}
		mean += w * df / float64(s.n)
		size += w * df
	}
	if mean != 0 {
		for i, x := range s.total {
			g[i] -= mean * x
		}
	}
	return size
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
