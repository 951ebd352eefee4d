package modulate

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
)

// llrFull is the learned lexical representation as in the paper (Eq. 6), where a hidden state also
// weighs tokens other than its own:
//
//	w_t = max_j log(1 + ReLU(h_j·U_t + b_t))
//
// Position j scores only the 8 tokens nearest to its own, itself included, by the directions of
// the closed-form head (newHead). U starts from that head. The neighbours are fixed when the fit
// starts. The exact form would cost O(L·|V|·d), see llrExact.
var llrFull = Register(Variant{
	Name: "llr-full",
	Kind: Multiplicative,
	Need: encoder.NeedHidden,

	ReadsSums: true,
	Weigh: func(p Parts) (Weigher, error) {
		h, err := p.head("llr-full")
		if err != nil {
			return nil, err
		}
		if h.Tokens == nil || h.Near == nil {
			return nil, fmt.Errorf("%w: the bridge's llr-full has no lists of neighbours; fit again", ErrNotFitted)
		}
		return learned{h, expansion{h, len(h.U) / h.Rows()}.weigh}, nil
	},
	Start: func(dim int, length float64, p Parts) (*Head, error) {
		h, err := startFull(dim, length, p)
		if err == nil {
			h.Near = h.nearest(llrNear)
		}
		return h, err
	},
})

// startFull is the U and b that Eq. 6 starts from: those of the closed-form
// head, for states of about the given length.
func startFull(_ int, length float64, p Parts) (*Head, error) {
	h, err := newHead(p.Sums, headOptions{MinDF: 1, MaxShare: 1})
	if err != nil {
		return nil, err
	}
	vec.Scale(h.U, float32(1/length))
	return h, nil
}

// llrNear is the number of tokens that a position scores.
const llrNear = 8

// nearest lists the k rows with the largest cosine to each row, itself first and then by
// descending cosine; all of them if there are fewer.
func (h *Head) nearest(k int) []int32 {
	n, d := h.Rows(), len(h.U)/h.Rows()
	k = min(k, n)
	u := slices.Clone(h.U)
	for r := range n {
		vec.Normalize(u[r*d : (r+1)*d])
	}
	near := make([]int32, n*k)
	const rows = 64
	score := make([]float32, rows*n)
	for at := 0; at < n; at += rows {
		m := min(rows, n-at)
		vec.MatMulNTParallel(score, u[at*d:(at+m)*d], u, m, n, d, runtime.GOMAXPROCS(0))
		for i := range m {
			s := score[i*n : (i+1)*n]
			s[at+i] = 2 // a row is nearest to itself
			list := near[(at+i)*k : (at+i)*k : (at+i+1)*k]
			for r, x := range s {
				if len(list) == k {
					if !(x > s[list[k-1]]) {
						continue
					}
					list = list[:k-1]
				}
				to := len(list)
				for to > 0 && x > s[list[to-1]] {
					to--
				}
				list = slices.Insert(list, to, int32(r))
			}
		}
	}
	return near
}

type expansion struct {
	h   *Head
	dim int
}

func (e expansion) weigh(dst Lexical, from []Origin, in Input, trace bool) (Lexical, []Origin) {
	d, at := e.dim, len(dst.IDs)
	if len(in.Hidden) != len(in.Tokens.IDs)*d {
		return dst, from
	}
	for j, id := range in.Tokens.IDs {
		own := e.h.row(id)
		if in.Tokens.Special[j] || own < 0 {
			continue
		}
		x := in.Hidden[j*d : (j+1)*d]
		for _, r := range e.h.near(own) {
			w, slope := activate(vec.Dot(x, e.h.U[int(r)*d:int(r+1)*d]) + e.h.B[r])
			dst, from = keep(dst, from, at, e.h.Tokens[r], w, Origin{Row: r, State: int32(j), Slope: slope}, trace)
		}
	}
	return dst, from
}
