package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
)

// The factors of a token are those that a query of it alone gets from the modulator of the fitted parts. A stack without
// additive parts is that modulator; one with some has the same factors as the same weights without them.
func TestScaleTokensIsTheQueryOfOneToken(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		if !s.ScalesTokens() {
			return
		}
		p := lawParts(t, r, s.Name(), 1)
		p.Weights.Spread = 0.4
		scaler := build(t, s.Name(), p).(TokenScaler)
		fitted := ""
		for _, v := range s.Parts() {
			if v.Kind == Multiplicative {
				fitted += "+" + v.Name
			}
		}
		w := *p.Weights
		w.Stack = fitted[1:]
		alone := build(t, w.Stack, Parts{Sums: p.Sums, Weights: &w})

		far := 0.0
		for range 20 {
			in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(8)))
			got, err := scaler.ScaleTokens([]float32{7}, in)
			if err != nil || got[0] != 7 || len(got) != 1+len(in.Hidden) {
				t.Fatalf("%d numbers (%v)", len(got), err)
			}
			got = got[1:]
			for i, id := range in.Tokens.IDs {
				state := in.Hidden[i*lawDim : (i+1)*lawDim]
				one := Input{Tokens: tokens(), Dense: slices.Clone(state)}
				if !in.Tokens.Special[i] {
					one.Tokens = tokens(id)
				}
				one.Hidden = slices.Repeat(state, len(one.Tokens.IDs)) // special ones stand around it
				vec.Normalize(one.Dense)
				want := alone.Modulate(nil, one)
				vec.Scale(want, vec.Norm(state))
				if x := maxDiff(got[i*lawDim:(i+1)*lawDim], want); !(x <= 1e-5) {
					t.Fatalf("token %d at %d differs by %g from the query of it alone", id, i, x)
				}
				far = max(far, maxDiff(want, state))
			}
		}
		if far < 0.1 {
			t.Errorf("no state moved by more than %g", far)
		}
	})
}

// By definition, with nothing of the modulator: h ⊙ softmax(W·w + b), at the length of h.
func TestScaleTokensOfSLR(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := lawParts(t, r, "rlr+slr", 1)
	in := fullInput(r, lawDim, lawVocab, tokens(4, 9, 4, 12))
	got, err := build(t, "rlr+slr", p).(TokenScaler).ScaleTokens(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range in.Tokens.IDs {
		state := in.Hidden[i*lawDim : (i+1)*lawDim]
		want := slices.Clone(state)
		if !in.Tokens.Special[i] {
			for j, f := range p.Weights.Projection.Factors(nil, Lexical{IDs: []int32{id}, Weights: []float32{math.Ln2}}) {
				want[j] *= f
			}
			vec.Scale(want, vec.Norm(state)/vec.Norm(want))
		}
		if x := maxDiff(got[i*lawDim:(i+1)*lawDim], want); !(x <= 1e-5) {
			t.Errorf("token %d at %d differs by %g", id, i, x)
		}
	}
}

// Factors that are all equal are 1 at the length that a state keeps: plain states.
func TestScaleTokensByOne(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		if !s.ScalesTokens() {
			return
		}
		p := lawParts(t, r, s.Name(), 1)
		clear(p.Weights.Projection.rows)
		if err := p.Weights.Projection.SetBias(nil); err != nil {
			t.Fatal(err)
		}
		in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 6))
		clear(in.Hidden[:lawDim]) // a state of zeros has no direction
		got, err := build(t, s.Name(), p).(TokenScaler).ScaleTokens(nil, in)
		if err != nil || !vec.Finite(got) || maxDiff(got, in.Hidden) > 1e-6 {
			t.Errorf("W = 0 moved states by %g (%v)", maxDiff(got, in.Hidden), err)
		}
	})
}

func TestScaleTokensRefuses(t *testing.T) {
	want := map[string]bool{"slr": true, "slr-idf": true, "llr": true, "llr-full": true, "llr+slr": true, "rlr+slr": true,
		"rlr": false, "whiten": false, "rlr+whiten": false, "clr": false, "mlm": false, "clr+slr": false, "mlm+rlr": false}
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		if w, ok := want[s.Name()]; ok && w != s.ScalesTokens() {
			t.Errorf("ScalesTokens says %v", s.ScalesTokens())
		}
		m := build(t, s.Name(), lawParts(t, r, s.Name(), 1)).(TokenScaler)
		in := fullInput(r, lawDim, lawVocab, tokens(4, 9))
		if _, err := m.ScaleTokens(nil, in); errors.Is(err, ErrOptions) == s.ScalesTokens() {
			t.Errorf("states of tokens: %v", err)
		}
		in.Hidden = in.Hidden[1:]
		if _, err := m.ScaleTokens(nil, in); !errors.Is(err, ErrOptions) {
			t.Errorf("states that are not whole: %v", err)
		}
	})
}
