package modulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
)

// TestAttributionAddsUp: whatever the stack, the shares of the tokens add up to
// the score, also where the factors are far from 1.
func TestAttributionAddsUp(t *testing.T) {
	for _, size := range []float64{0, 0.01, 1, 4} {
		each(t, func(t *testing.T, r *rand.Rand, s Stack) {
			parts := lawParts(t, r, s.Name(), size)
			parts.Weights.Spread = 0.6 * float64(r.IntN(2)) // with a bound and without
			m := build(t, s.Name(), parts).(Attributor)
			moved := 0.0
			for range 10 {
				in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(9)))
				if r.IntN(2) == 0 {
					in = more(r, in, lawVocab, 3)
				}
				p := unit(r, lawDim)
				a := m.Attribute(in, p)
				if d := math.Abs(a.Score - dot64(m.Modulate(nil, in), p)); d > 1e-12 {
					t.Fatalf("score is off by %v", d)
				}
				sum := a.Plain + a.Bias
				if s.Name() == whitenVariant.Name { // no token has a share in it
					moved += math.Abs(a.Bias)
				}
				for _, x := range a.Tokens {
					sum += x.Scale + x.Shift
					moved += math.Abs(x.Scale) + math.Abs(x.Shift)
				}
				if d := math.Abs(sum - a.Score); !(d < 2e-6) {
					t.Fatalf("size %v: shares add up to %v, the score is %v", size, sum, a.Score)
				}
			}
			if size >= 1 && moved < 1e-4 {
				t.Fatalf("size %v: nothing moved anything", size)
			}
		})
	}
}

func TestAttributionWithoutTokens(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		m := build(t, s.Name(), lawParts(t, r, s.Name(), 1)).(Attributor)
		in := Input{Dense: unit(r, lawDim), Tokens: encoder.Tokens{}}
		p := unit(r, lawDim)
		a := m.Attribute(in, p)
		if variantsReadDense(s) {
			return // their lexical vector comes from q itself
		}
		if a.Plain != a.Score || len(a.Tokens) != 0 || a.Bias != 0 {
			t.Fatalf("%+v", a)
		}
	})
}

func variantsReadDense(s Stack) bool {
	for _, v := range s.Parts() {
		if strings.HasPrefix(v.Name, "clr") || v.Need&encoder.NeedLogits != 0 {
			return true
		}
	}
	return false
}

// TestAttributionOfRLR holds the shares against R itself, solved densely.
func TestAttributionOfRLR(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sums, all := corpusSums(r, lawDim, lawVocab, 50)
	reg, err := newRLR(sums, RLROptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := build(t, "rlr", Parts{Sums: sums}).(Attributor)
	total := make([]float64, lawDim)
	for _, p := range all {
		for i, x := range p.x {
			total[i] += float64(x)
		}
	}
	n := float64(len(all))
	a := mat.NewDense(lawDim, lawDim, nil)
	for i := range lawDim {
		for j := range lawDim {
			x := -total[i] * total[j] / n
			for _, p := range all {
				x += float64(p.x[i]) * float64(p.x[j])
			}
			if i == j {
				x += reg.options.Lambda
			}
			a.Set(i, j, x)
		}
	}
	in := fullInput(r, lawDim, lawVocab, tokens(3, 7, 7, 20, 41))
	ids := in.Tokens.Lexical(nil)
	p, l := unit(r, lawDim), mat.NewVecDense(lawDim, nil)
	parts := map[int32]*mat.VecDense{}
	for _, id := range ids {
		b := mat.NewVecDense(lawDim, nil)
		df := float64(sums.DF(id))
		for i := range lawDim {
			x := -df * total[i] / n
			for _, p := range all {
				if slices.Contains(p.tokens, id) {
					x += float64(p.x[i])
				}
			}
			b.SetVec(i, ridge.IDF(len(all), sums.DF(id))*x)
		}
		lt := mat.NewVecDense(lawDim, nil)
		if err := lt.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		parts[id] = lt
		l.AddVec(l, lt)
	}
	v := mat.NewVecDense(lawDim, nil)
	for i, x := range in.Dense {
		v.SetVec(i, float64(x)+reg.options.Alpha*l.AtVec(i)/mat.Norm(l, 2))
	}
	got := m.Attribute(in, p)
	if len(got.Tokens) != len(ids) {
		t.Fatalf("%d tokens, want %d", len(got.Tokens), len(ids))
	}
	for _, x := range got.Tokens {
		want := 0.0
		for i := range p {
			want += parts[x.ID].AtVec(i) * float64(p[i])
		}
		want *= reg.options.Alpha / mat.Norm(l, 2) / mat.Norm(v, 2)
		if math.Abs(x.Shift-want) > 1e-5 || x.Scale != 0 {
			t.Errorf("token %d: %+v, want a shift of %v", x.ID, x, want)
		}
	}
}
