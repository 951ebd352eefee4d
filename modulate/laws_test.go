package modulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
)

// The laws of modulation, for every registered variant and for every stack of
// two of those that are not Whole.
func stacks() []string {
	var names []string
	for _, v := range variants {
		if v.Whole {
			names = append(names, v.Name)
		}
	}
	for i, v := range Variants() {
		names = append(names, v.Name)
		for _, w := range Variants()[i+1:] {
			names = append(names, v.Name+"+"+w.Name)
		}
	}
	return names
}

const (
	lawDim   = 24
	lawVocab = 60
)

func lawParts(t *testing.T, r *rand.Rand, stack string, size float64) Parts {
	t.Helper()
	s, err := ParseStack(stack)
	if err != nil {
		t.Fatal(err)
	}
	sums, _ := corpusSums(r, lawDim, lawVocab, 40)
	p := Parts{Sums: sums, Weights: &Weights{Stack: stack, Projection: filled(t, r, lawDim, lawVocab, size)}}
	if !s.Fitted() { // such weights are not read
		return p
	}
	if p.Weights, err = s.Start(lawDim, lawVocab, 5, p); err != nil {
		t.Fatal(err)
	}
	p.Weights.Projection = filled(t, r, lawDim, p.Weights.Projection.VocabSize(), size)
	for _, h := range p.Weights.Heads {
		for i := range h.U {
			h.U[i] += float32(0.3 * r.NormFloat64())
		}
	}
	return p
}

// weigh makes the lexical vectors of stack s over p.
func weigh(t *testing.T, s Stack, p Parts) *Bridge {
	t.Helper()
	b, err := s.Bridge(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func each(t *testing.T, f func(t *testing.T, r *rand.Rand, s Stack)) {
	for _, name := range stacks() {
		t.Run(name, func(t *testing.T) {
			s, err := ParseStack(name)
			if err != nil {
				t.Fatal(err)
			}
			f(t, rand.New(rand.NewPCG(7, 11)), s)
		})
	}
}

func TestLawIdentityWithoutTokens(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		m := build(t, s.Name(), lawParts(t, r, s.Name(), 1))
		for _, tok := range []encoder.Tokens{{}, tokens()} {
			in := fullInput(r, lawDim, lawVocab, tok)
			if got := m.Modulate(nil, in); !same(got, in.Dense) {
				t.Fatalf("a query without tokens became %v, want %v", got, in.Dense)
			}
		}
	})
}

func TestLawIdentityOfZero(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		p := lawParts(t, r, s.Name(), 1)
		clear(p.Weights.Projection.rows)
		if err := p.Weights.Projection.SetBias(nil); err != nil {
			t.Fatal(err)
		}
		p.Sums = emptySums(lawDim, lawVocab)
		m := build(t, s.Name(), p)
		for range 50 {
			in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(12)))
			if got := m.Modulate(nil, in); !same(got, in.Dense) {
				t.Fatalf("W = 0 over no corpus moved the query")
			}
		}
	})
}

// A shift of all logits by the same amount is no modulation either.
func TestLawShiftInvariance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := filled(t, r, lawDim, lawVocab, 2)
	moved := filled(t, rand.New(rand.NewPCG(1, 2)), lawDim, lawVocab, 2)
	b := slices.Clone(moved.bias)
	for i := range b {
		b[i] += 8 // a power of two keeps the sums exact enough to compare
	}
	if err := moved.SetBias(b); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(12)))
		w := presence{}.Weigh(Lexical{}, in)
		if d := maxDiff(p.Factors(nil, w), moved.Factors(nil, w)); d > 1e-5 {
			t.Fatalf("factors differ by %g after a shift of all logits", d)
		}
		x := build(t, "slr", Parts{Weights: &Weights{Stack: "slr", Projection: p}}).Modulate(nil, in)
		y := build(t, "slr", Parts{Weights: &Weights{Stack: "slr", Projection: moved}}).Modulate(nil, in)
		if d := maxDiff(x, y); d > 1e-5 {
			t.Fatalf("query differs by %g after a shift of all logits", d)
		}
	}
}

func TestLawFiniteUnit(t *testing.T) {
	for _, size := range []float64{1e-30, 1, 50, 1e30, math.MaxFloat32} {
		each(t, func(t *testing.T, r *rand.Rand, s Stack) {
			m := build(t, s.Name(), lawParts(t, r, s.Name(), size))
			for range 100 {
				in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(90)))
				for i := range in.Dense {
					if r.IntN(4) == 0 { // components that are zero, or nearly so
						in.Dense[i] = []float32{0, 1e-38, -1e-30}[r.IntN(3)]
					}
				}
				if !vec.Normalize(in.Dense) {
					continue
				}
				before := slices.Clone(in.Dense)
				got := m.Modulate(nil, in)
				if !vec.Finite(got) || math.Abs(float64(vec.Norm(got))-1) > 1e-5 {
					t.Fatalf("size %g: norm %v of %v", size, vec.Norm(got), got)
				}
				if !same(before, in.Dense) {
					t.Fatal("the input was changed")
				}
			}
		})
	}
}

// Factors are ≥ 0 and sum to 1, no component changes sign, and the modulated
// vector is norm(q ⊙ factors) (Eq. 9).
func TestLawFactors(t *testing.T) {
	each(t, func(t *testing.T, _ *rand.Rand, s Stack) {
		for _, v := range s.Parts() {
			if v.Kind != Multiplicative {
				return
			}
		}
		for _, size := range []float64{0.1, 3, 1e30} {
			r := rand.New(rand.NewPCG(3, 4))
			parts := lawParts(t, r, s.Name(), size)
			p, b := parts.Weights.Projection, weigh(t, s, parts)
			m := build(t, s.Name(), parts)
			for range 50 {
				in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(12)))
				f := p.Factors(nil, b.Weigh(Lexical{}, in))
				var sum float64
				want := make([]float32, lawDim)
				for i, x := range f {
					if !(x >= 0) {
						t.Fatalf("factor %v", x)
					}
					sum += float64(x)
					want[i] = in.Dense[i] * x
				}
				if math.Abs(sum-1) > 1e-6 {
					t.Fatalf("factors sum to %v", sum)
				}
				vec.Normalize(want)
				got := m.Modulate(nil, in)
				if d := maxDiff(got, want); d > 1e-6 {
					t.Fatalf("differs from norm(q ⊙ factors) by %g", d)
				}
				for i, x := range got {
					if x*in.Dense[i] < 0 {
						t.Fatalf("component %d changed sign", i)
					}
				}
			}
		}
	})
}

// w is a vector over the vocabulary of each part: ids are distinct, weights
// finite and ≥ 0, and special tokens carry none but where the whole vocabulary does.
func TestLawLexical(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		if !s.Fitted() {
			return
		}
		b := weigh(t, s, lawParts(t, r, s.Name(), 1))
		weighed := 0
		for range 50 {
			in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, r.IntN(90)))
			w := b.Weigh(Lexical{}, in)
			if len(w.IDs) != len(w.Weights) {
				t.Fatalf("%d ids, %d weights", len(w.IDs), len(w.Weights))
			}
			seen := map[int32]bool{}
			for i, id := range w.IDs {
				if id < 0 || int(id) >= b.Columns() || seen[id] || id%lawVocab < 2 && s.Name() != clrExact.Name {
					t.Fatalf("id %d is twice there, special, or no column of %d", id, b.Columns())
				}
				seen[id] = true
				if x := float64(w.Weights[i]); !(x >= 0) || math.IsInf(x, 0) {
					t.Fatalf("token %d has weight %v", id, x)
				}
				weighed++
			}
		}
		if weighed == 0 {
			t.Fatal("no token ever had a weight")
		}
	})
}

// These variants read the set of tokens only: their order and repetition change nothing.
var setBased = map[string]bool{"rlr": true, "slr": true, "slr-idf": true, "whiten": true}

func TestLawSetBased(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		for _, v := range s.Parts() {
			if !setBased[v.Name] {
				return
			}
		}
		m := build(t, s.Name(), lawParts(t, r, s.Name(), 2))
		for range 50 {
			ids := make([]int32, 1+r.IntN(10))
			for i := range ids {
				ids[i] = int32(2 + r.IntN(lawVocab-2))
			}
			q := unit(r, lawDim)
			want := m.Modulate(nil, Input{Tokens: tokens(ids...), Dense: q})
			again := append(slices.Clone(ids), ids[:r.IntN(len(ids)+1)]...)
			r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
			if d := maxDiff(m.Modulate(nil, Input{Tokens: tokens(again...), Dense: q}), want); d > 1e-6 {
				t.Fatalf("order or repetition moved the query by %g", d)
			}
		}
	})
}

// SLR alone is exact about it: the same set of tokens gives the same bits when
// the order of first occurrence is the same.
func TestSLRWeights(t *testing.T) {
	w := presence{}.Weigh(Lexical{}, Input{Tokens: tokens(5, 7, 5, 9, 7)})
	if !slices.Equal(w.IDs, []int32{5, 7, 9}) {
		t.Fatalf("ids %v", w.IDs)
	}
	for _, x := range w.Weights {
		if x != float32(math.Log(2)) {
			t.Fatalf("weight %v, want log 2 (Eq. 5)", x)
		}
	}
}

func TestUnknownTokensAndDimensions(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		m := build(t, s.Name(), lawParts(t, r, s.Name(), 1))
		in := fullInput(r, lawDim, lawVocab, tokens(-3, lawVocab, math.MaxInt32, 5))
		if got := m.Modulate(nil, in); !vec.Finite(got) || len(got) != lawDim {
			t.Fatalf("got %v", got)
		}
		in.Dense = unit(r, lawDim+1)
		if got := m.Modulate(nil, in); !same(got, in.Dense) {
			t.Fatal("a vector of another dimension was changed")
		}
	})
}

func TestModulateAppendsConcurrently(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		p := lawParts(t, r, s.Name(), 1)
		m := build(t, s.Name(), p)
		in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 8))
		want := m.Modulate(nil, in)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var out []float32
				for range 100 {
					out = m.Modulate(append(out[:0], 42), in)
					if out[0] != 42 || !same(out[1:], want) {
						t.Error("another result from another goroutine")
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestModulateDoesNotAllocate(t *testing.T) {
	if racing {
		t.Skip("pools drop items under the race detector")
	}
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		m := build(t, s.Name(), lawParts(t, r, s.Name(), 1))
		in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 8))
		out := m.Modulate(nil, in)
		if n := testing.AllocsPerRun(200, func() { out = m.Modulate(out[:0], in) }); n > 0.1 {
			t.Errorf("%v allocations a query", n)
		}
	})
}
