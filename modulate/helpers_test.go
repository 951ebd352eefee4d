package modulate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/testkit/testcorpus"
)

var unit, same, maxDiff = testcorpus.Unit, testcorpus.Same, testcorpus.MaxDiff

// tokens frames ids as an encoder would: specials at both ends.
func tokens(ids ...int32) encoder.Tokens {
	t := encoder.Tokens{IDs: []int32{0}, Special: []bool{true}}
	for _, id := range ids {
		t.IDs, t.Special = append(t.IDs, id), append(t.Special, false)
	}
	t.IDs, t.Special = append(t.IDs, 1), append(t.Special, true)
	t.Offsets = make([]encoder.Span, len(t.IDs))
	return t
}

func randomTokens(r *rand.Rand, vocab, n int) encoder.Tokens {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(2 + r.IntN(vocab-2))
	}
	return tokens(ids...)
}

// fullInput offers every tensor, so that any registered variant has what it
// needs.
func fullInput(r *rand.Rand, d, vocab int, t encoder.Tokens) Input {
	in := Input{Tokens: t, Dense: unit(r, d), Hidden: make([]float32, len(t.IDs)*d), Logits: make([]float32, vocab)}
	for i := range in.Hidden {
		in.Hidden[i] = float32(r.NormFloat64())
	}
	for i := range in.Logits {
		in.Logits[i] = float32(r.NormFloat64())
	}
	return in
}

// filled returns a projection with rows for about half of the vocabulary, of
// entries up to size, and a bias.
func filled(t *testing.T, r *rand.Rand, d, vocab int, size float64) *Projection {
	t.Helper()
	p, err := NewProjection(d, vocab)
	if err != nil {
		t.Fatal(err)
	}
	for id := range vocab {
		if r.IntN(2) == 0 {
			if err := p.Touch(int32(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range p.rows {
		p.rows[i] = float32((2*r.Float64() - 1) * size)
	}
	b := make([]float32, d)
	for i := range b {
		b[i] = float32((2*r.Float64() - 1) * size)
	}
	if err := p.SetBias(b); err != nil {
		t.Fatal(err)
	}
	return p
}

// corpusSums are sums over n random passages whose vectors lean towards the
// directions of their tokens, so that there is something to regress.
func corpusSums(r *rand.Rand, d, vocab, n int) (*ridge.Sums, []passage) {
	all := make([]passage, n)
	for i := range all {
		all[i] = randomPassage(r, d, vocab)
	}
	return sumsOver(d, vocab, all...), all
}

// emptySums are the sums of no passage.
func emptySums(d, vocab int) *ridge.Sums { return sumsOver(d, vocab) }

// sumsOver are the sums of some passages.
func sumsOver(d, vocab int, all ...passage) *ridge.Sums {
	s, err := ridge.SumsOf(context.Background(), d, vocab, len(all),
		func(i int) []float32 { return all[i].x },
		func(i int) ([]int32, error) { return all[i].tokens, nil })
	if err != nil {
		panic(err)
	}
	return s
}

type passage struct {
	x      []float32
	tokens []int32
}

func randomPassage(r *rand.Rand, d, vocab int) (p passage) {
	p.x, p.tokens = testcorpus.Passage(r, d, vocab)
	return p
}

func build(t *testing.T, name string, p Parts) Modulator {
	t.Helper()
	m, err := NewStack(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Factors appends q_lex = softmax(W·w + b) (Eq. 8) to dst: d factors ≥ 0 that
// sum to 1. Modulation multiplies q by them; Fuse does so without the
// denominator, which normalisation cancels.
func (p *Projection) Factors(dst []float32, w Lexical) []float32 {
	z := make([]float64, p.dim)
	p.AddLogits(z, w)
	m := slices.Max(z)
	var sum float64
	for i, x := range z {
		z[i] = math.Exp(x - m)
		sum += z[i]
	}
	for _, e := range z {
		dst = append(dst, float32(e/sum))
	}
	return dst
}
