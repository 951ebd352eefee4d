package modulate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
)

// naive is RLR straight from its definition: it forms X, B and R.
func naive(all []passage, ids []int32, q []float32, alpha, lambda float64) []float32 {
	n, d := len(all), len(q)
	mean := make([]float64, d)
	for _, p := range all {
		for i, x := range p.x {
			mean[i] += float64(x) / float64(n)
		}
	}
	x := mat.NewDense(n, d, nil)
	for r, p := range all {
		for i, f := range p.x {
			x.Set(r, i, float64(f)-mean[i])
		}
	}
	var a, xt, inv mat.Dense
	a.Mul(x.T(), x)
	for i := range d {
		a.Set(i, i, a.At(i, i)+lambda)
	}
	if err := inv.Inverse(&a); err != nil {
		panic(err)
	}
	xt.Mul(&inv, x.T())
	l := make([]float64, d)
	for _, t := range ids {
		b := mat.NewVecDense(n, nil)
		df := 0
		for r, p := range all {
			if slices.Contains(p.tokens, t) {
				b.SetVec(r, 1)
				df++
			}
		}
		var rt mat.VecDense
		rt.MulVec(&xt, b)
		w := math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
		for i := range l {
			l[i] += w * rt.AtVec(i)
		}
	}
	var ll, vv float64
	for _, f := range l {
		ll += f * f
	}
	v := make([]float64, d)
	for i := range v {
		v[i] = float64(q[i]) + alpha*l[i]/math.Sqrt(ll)
		vv += v[i] * v[i]
	}
	out := make([]float32, d)
	for i := range out {
		out[i] = float32(v[i] / math.Sqrt(vv))
	}
	return out
}

func TestRLREqualsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, vocab = 16, 80
	sums, all := corpusSums(r, d, vocab, 120)
	m := build(t, "rlr", Parts{Sums: sums, RLR: RLROptions{Alpha: 0.7, Lambda: 0.3}})
	for range 30 {
		in := Input{Tokens: randomTokens(r, vocab, 4), Dense: unit(r, d)}
		want := naive(all, in.Tokens.Lexical(nil), in.Dense, 0.7, 0.3)
		if diff := maxDiff(m.Modulate(nil, in), want); diff > 1e-5 {
			t.Fatalf("differs from the definition by %g", diff)
		}
	}
}

// Tokens of every passage, of none, and a corpus of one vector have no
// direction: the query stays as it is, bit for bit.
func TestRLRWithoutDirection(t *testing.T) {
	const vocab = 20
	for _, d := range []int{16, 600} { // tokens with a row, and none
		r := rand.New(rand.NewPCG(4, 4))
		var all []passage
		check := func(why string, ids ...int32) {
			t.Helper()
			in := Input{Tokens: tokens(ids...), Dense: unit(r, d)}
			if !same(build(t, "rlr", Parts{Sums: sumsOver(d, vocab, all...)}).Modulate(nil, in), in.Dense) {
				t.Errorf("%s: the query moved", why)
			}
		}
		check("empty corpus", 5)
		x := unit(r, d)
		for range 50 {
			all = append(all, passage{x: x, tokens: []int32{5, 6}})
		}
		check("token of every passage", 5, 6)
		for range 30 {
			all = append(all, passage{x: x, tokens: []int32{7}})
		}
		check("all vectors equal", 5, 7)
		check("token never seen", 9)
		check("token outside the vocabulary", 20, -1)
	}
}

// A ridge that rounding swallows is raised rather than refused.
func TestTinyRidge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	const d, vocab = 32, 40
	s, _ := corpusSums(r, d, vocab, 20) // a scatter of rank 19
	m := build(t, "rlr+whiten", Parts{Sums: s, RLR: RLROptions{Lambda: 1e-6}})
	for range 10 {
		in := Input{Tokens: randomTokens(r, vocab, 5), Dense: unit(r, d)}
		if out := m.Modulate(nil, in); same(out, in.Dense) || !(math.Abs(dot64(out, out)-1) < 1e-5) {
			t.Fatalf("%v", out)
		}
	}
}

func TestContextsEndShifts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	const d, vocab = 64, 40
	s, _ := corpusSums(r, d, vocab, 100)
	ctx, cancel := context.WithCancel(t.Context())
	in := Input{Tokens: randomTokens(r, vocab, 5), Dense: unit(r, d), Ctx: ctx}
	m := build(t, "rlr", Parts{Sums: s})
	if same(m.Modulate(nil, in), in.Dense) {
		t.Fatal("a query with a live context does not move")
	}
	cancel()
	if !same(m.Modulate(nil, in), in.Dense) || s.Err() != nil {
		t.Error("a query moves after its end, or the end is damage")
	}
}

// A centred alpha counts against the distance of the passages from their mean, and the shares of the tokens
// add up to it all the same.
func TestRLRCentred(t *testing.T) {
	const dim, n = 8, 40
	r := rand.New(rand.NewPCG(3, 4))
	vectors := make([][]float32, n)
	for i := range vectors {
		v := make([]float32, dim)
		for j := range v {
			v[j] = 3 + float32(r.NormFloat64())
		}
		vec.Normalize(v)
		vectors[i] = v
	}
	sums, err := ridge.SumsOf(t.Context(), dim, 5, n, func(i int) []float32 { return vectors[i] }, func(i int) ([]int32, error) { return []int32{int32(i % 5)}, nil })
	if err != nil {
		t.Fatal(err)
	}
	var ss float64
	for j := range dim {
		var m, s float64
		for _, v := range vectors {
			m += float64(v[j]) / n
			s += float64(v[j]) * float64(v[j]) / n
		}
		ss += s - m*m
	}
	want := math.Sqrt(ss)
	if d := sums.Deviation(); math.Abs(d-want) > 1e-6 || d < 0.1 || d > 0.6 {
		t.Errorf("deviation %v, want %v", d, want)
	}
	for _, c := range []struct {
		o    RLROptions
		want float64
	}{{RLROptions{}, 0.5}, {RLROptions{Centred: true}, 0.6 * want}, {RLROptions{Alpha: 2, Centred: true}, 2 * want}} {
		reg, err := newRLR(sums, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if lambda := map[bool]float64{false: 1, true: centredLambda}[c.o.Centred]; reg.Options().Lambda != lambda || reg.sums.Lambda() != lambda {
			t.Errorf("%+v: a ridge of %v, in its sums %v", c.o, reg.Options().Lambda, reg.sums.Lambda())
		}
		shift := make([]float32, dim)
		if !reg.AddShift(shift, Input{Tokens: encoder.Tokens{IDs: []int32{1, 2}, Special: make([]bool, 2)}, Dense: vectors[0]}) || math.Abs(float64(vec.Norm(shift))-c.want) > 1e-5 {
			t.Errorf("%+v: a shift of %v, want %v", c.o, vec.Norm(shift), c.want)
		}
	}
}
