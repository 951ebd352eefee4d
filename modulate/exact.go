package modulate

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
)

// Eq. 6 and 7 without the bounds of llr-full, clr-softmax and mlm, for measuring the effect of
// these bounds. All are Whole: a query takes O(|V|) and more.

// llrExact is Eq. 6 over the whole vocabulary: every position scores every token, and the largest
// weight counts. It exists to evaluate llr-full. Tokens without a passage keep weight 0. Cost
// O(L·|V|·d) for each query.
var llrExact = Register(Variant{
	Name: "llr-exact",
	Kind: Multiplicative,
	Need: encoder.NeedHidden,

	ReadsSums: true,
	Whole:     true,
	Weigh: func(p Parts) (Weigher, error) {
		h, err := p.head("llr-exact")
		if err != nil {
			return nil, err
		}
		if h.Tokens == nil {
			return nil, fmt.Errorf("%w: the bridge's llr-exact has one row for all tokens, not one for each; fit again", ErrNotFitted)
		}
		return learned{h, everyToken{h, len(h.U) / h.Rows()}.weigh}, nil
	},
	Start: startFull,
})

type everyToken struct {
	h   *Head
	dim int
}

type stateScratch struct {
	at     []int32   // positions of the states
	states []float32 // [len(at) × d]
	scores []float32 // [len(at) × rows of a block]
}

var stateScratches = sync.Pool{New: func() any { return new(stateScratch) }}

// weigh scores U in blocks of rows that fit into the cache, for all states at once.
func (e everyToken) weigh(dst Lexical, from []Origin, in Input, trace bool) (Lexical, []Origin) {
	d, n := e.dim, e.h.Rows()
	if len(in.Hidden) != len(in.Tokens.IDs)*d || !in.lexical() {
		return dst, from
	}
	s := stateScratches.Get().(*stateScratch)
	defer stateScratches.Put(s)
	s.at, s.states = s.at[:0], s.states[:0]
	for j, special := range in.Tokens.Special {
		if !special {
			s.at, s.states = append(s.at, int32(j)), append(s.states, in.Hidden[j*d:(j+1)*d]...)
		}
	}
	const block = 256
	m := len(s.at)
	s.scores = slices.Grow(s.scores[:0], m*block)[:m*block]
	for first := 0; first < n; first += block {
		k := min(block, n-first)
		vec.MatMulNT(s.scores[:m*k], s.states, e.h.U[first*d:(first+k)*d], m, k, d)
		for i := range k {
			best := 0
			for j := 1; j < m; j++ {
				if s.scores[j*k+i] > s.scores[best*k+i] {
					best = j
				}
			}
			r := first + i
			w, slope := activate(s.scores[best*k+i] + e.h.B[r])
			dst.IDs, dst.Weights = append(dst.IDs, e.h.Tokens[r]), append(dst.Weights, w)
			if trace {
				from = append(from, Origin{Row: int32(r), State: s.at[best], Slope: slope})
			}
		}
	}
	return dst, from
}

// clrExact is Eq. 7 over the whole vocabulary, with the head of newHead for every token of the
// corpus. Tokens without a passage score 0 and take part in the softmax. It exists to evaluate
// clr-softmax. Cost O(|V|·d) for each query.
var clrExact = Register(Variant{
	Name: "clr-exact",
	Kind: Multiplicative,

	ReadsSums: true,
	Whole:     true,
	Weigh: func(p Parts) (Weigher, error) {
		h, err := p.head("clr-exact")
		if err != nil {
			return nil, err
		}
		return everyProbability{h, p.Sums.VocabSize()}, nil
	},
	Start: func(_ int, _ float64, p Parts) (*Head, error) {
		return newHead(p.Sums, headOptions{MinDF: 1, MaxShare: 1})
	},
})

type everyProbability struct {
	h     *Head
	vocab int
}

func (e everyProbability) Weigh(dst Lexical, in Input) Lexical {
	h := e.h
	if len(in.Dense)*h.Rows() != len(h.U) || !in.lexical() {
		return dst
	}
	s := scoreScratches.Get().(*scoreScratch)
	defer scoreScratches.Put(s)
	s.scores = zeroed(s.scores, e.vocab+h.Rows())
	every, rows := s.scores[:e.vocab], s.scores[e.vocab:]
	vec.DotRows(rows, in.Dense, h.U)
	for r, t := range h.Tokens {
		every[t] = rows[r] + h.B[r]
	}
	most := vec.Max(every)
	var sum float64
	for t, x := range every {
		e := math.Exp(float64(x-most) / clrTau)
		sum += e
		every[t] = float32(e)
	}
	for t, x := range every {
		dst.IDs, dst.Weights = append(dst.IDs, int32(t)), append(dst.Weights, float32(math.Log1p(float64(x)/sum)))
	}
	return dst
}

// mlmExact is mlm with all weights: one for every token of the query that is not special. If the
// logits are the largest over the text's tokens, w is that of SPLADE (Formal et al. 2021, max
// pooling). It is the reference for mlm.
var mlmExact = Register(Variant{
	Name: "mlm-exact",
	Kind: Multiplicative,
	Need: encoder.NeedLogits,

	Whole: true,
	Weigh: func(Parts) (Weigher, error) { return everyLogit{}, nil },
})

type everyLogit struct{}

func (everyLogit) Weigh(dst Lexical, in Input) Lexical {
	if !in.lexical() {
		return dst
	}
	special := func(t int32) bool {
		i := slices.Index(in.Tokens.IDs, t)
		return i >= 0 && in.Tokens.Special[i]
	}
	for t, x := range in.Logits {
		if w, _ := activate(x); w > 0 && !special(int32(t)) {
			dst.IDs, dst.Weights = append(dst.IDs, int32(t)), append(dst.Weights, w)
		}
	}
	return dst
}
