package modulate

import (
	"math"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
)

// The contextual lexical representation (Eq. 7) weighs every token of the vocabulary by a head on
// the whole query, w_t = log(1 + f(head_t)), and keeps the 64 largest weights. clr and clr-softmax
// use the closed-form head of newHead on the dense vector. mlm and mlm-softmax use the encoder's
// own masked-language-model head on the first token. f is ReLU, as in the paper's released code,
// or a softmax over the vocabulary, as in its text. Only tokens of the corpus have weight.
var (
	_ = Register(clr("clr", false))

	_ = Register(clr("clr-softmax", true))

	_ = Register(mlm("mlm", false))

	_ = Register(mlm("mlm-softmax", true))
)

// clrTau is the temperature of the softmax of clr-softmax: the closed-form head estimates
// probabilities, not logits, and a plain softmax of numbers in [0, 1] is almost uniform.
const clrTau = 0.1

// clrTokens is the number of weights that are kept.
const clrTokens = 64

// Bounds of the head of clr: a token of only one passage would be memorised, not learned, and a
// token of most passages distinguishes none.
var clrHead = headOptions{MinDF: 2, MaxShare: 0.5, MaxRows: 16384}

func clr(name string, softmax bool) Variant {
	return Variant{
		Name: name, Kind: Multiplicative,
		ReadsSums: true,
		Weigh: func(p Parts) (Weigher, error) {
			h, err := p.head(name)
			if err != nil {
				return nil, err
			}
			return fittedHead{h, softmax}, nil
		},
		Start: func(_ int, _ float64, p Parts) (*Head, error) { return newHead(p.Sums, clrHead) },
	}
}

type fittedHead struct {
	h       *Head
	softmax bool
}

func (f fittedHead) Weigh(dst Lexical, in Input) Lexical {
	h := f.h
	if len(in.Dense)*h.Rows() != len(h.U) || !in.lexical() {
		return dst
	}
	s := scoreScratches.Get().(*scoreScratch)
	defer scoreScratches.Put(s)
	s.scores = slices.Grow(s.scores[:0], h.Rows())[:h.Rows()]
	vec.DotRows(s.scores, in.Dense, h.U)
	for r, b := range h.B {
		s.scores[r] += b
	}
	if f.softmax {
		vec.Scale(s.scores, 1/clrTau)
	}
	at := len(dst.IDs)
	dst = s.keep(dst, f.softmax)
	for i, r := range dst.IDs[at:] {
		dst.IDs[at+i] = h.Tokens[r]
	}
	return dst
}

func mlm(name string, softmax bool) Variant {
	return Variant{
		Name: name, Kind: Multiplicative, Need: encoder.NeedLogits,
		ReadsSums: true,
		Weigh:     func(p Parts) (Weigher, error) { return ownHead{p.Sums, softmax}, nil },
	}
}

type ownHead struct {
	sums    *ridge.Sums
	softmax bool
}

func (o ownHead) Weigh(dst Lexical, in Input) Lexical {
	if len(in.Logits) != o.sums.VocabSize() || !in.lexical() {
		return dst
	}
	s := scoreScratches.Get().(*scoreScratch)
	defer scoreScratches.Put(s)
	s.scores = append(s.scores[:0], in.Logits...)
	for t := range s.scores {
		if o.sums.DF(int32(t)) == 0 {
			s.scores[t] = float32(math.Inf(-1))
		}
	}
	return s.keep(dst, o.softmax)
}

// lexical reports whether a token of the query has lexical weight. A query without any is not
// modulated, whatever a head makes of its vector.
func (in Input) lexical() bool { return slices.Contains(in.Tokens.Special, false) }

type scoreScratch struct {
	scores []float32
	top    []int32
}

var scoreScratches = sync.Pool{New: func() any { return new(scoreScratch) }}

// keep appends the clrTokens largest positive weights of s.scores to dst, by position; of equal
// scores the first is kept.
func (s *scoreScratch) keep(dst Lexical, softmax bool) Lexical {
	s.top = s.top[:0]
	for i, x := range s.scores {
		full := len(s.top) == clrTokens
		if full && !(x > s.scores[s.top[clrTokens-1]]) || !softmax && !(x > 0) || math.IsInf(float64(x), -1) {
			continue
		}
		if full {
			s.top = s.top[:clrTokens-1]
		}
		at := len(s.top)
		for at > 0 && x > s.scores[s.top[at-1]] {
			at--
		}
		s.top = slices.Insert(s.top, at, int32(i))
	}
	if len(s.top) == 0 {
		return dst
	}
	var most, sum float64
	if softmax {
		most = float64(s.scores[s.top[0]])
		for _, x := range s.scores {
			sum += math.Exp(float64(x) - most)
		}
	}
	slices.Sort(s.top)
	for _, i := range s.top {
		x := float64(s.scores[i])
		if softmax {
			x = math.Exp(x-most) / sum
		}
		dst.IDs = append(dst.IDs, i)
		dst.Weights = append(dst.Weights, float32(math.Log1p(x)))
	}
	return dst
}
