package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/internal/vec"
)

// whitened is β·u/‖u‖ straight from its definition, over all passages.
func whitened(all []passage, q []float32, lambda float64) []float64 {
	d := len(q)
	mean := make([]float64, d)
	for _, p := range all {
		for i, x := range p.x {
			mean[i] += float64(x) / float64(len(all))
		}
	}
	a := mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			for _, p := range all {
				a.Set(i, j, a.At(i, j)+(float64(p.x[i])-mean[i])*(float64(p.x[j])-mean[j]))
			}
		}
		a.Set(i, i, a.At(i, i)+lambda)
	}
	c := mat.NewVecDense(d, nil)
	for i, x := range q {
		c.SetVec(i, float64(x)-mean[i])
	}
	var u mat.VecDense
	if err := u.SolveVec(a, c); err != nil {
		panic(err)
	}
	u.ScaleVec(0.5/mat.Norm(&u, 2), &u)
	return u.RawVector().Data
}

func TestWhitenEqualsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	const d, vocab = 16, 80
	sums, all := corpusSums(r, d, vocab, 120)
	m := build(t, "whiten", Parts{Sums: sums, RLR: RLROptions{Lambda: 0.3}})
	for range 30 {
		in := Input{Tokens: randomTokens(r, vocab, 4), Dense: unit(r, d)}
		want := make([]float32, d)
		for i, x := range whitened(all, in.Dense, 0.3) {
			want[i] = in.Dense[i] + float32(x)
		}
		vec.Normalize(want)
		if diff := maxDiff(m.Modulate(nil, in), want); diff > 1e-5 {
			t.Fatalf("differs from the definition by %g", diff)
		}
	}
}

// In a stack with whitening RLR has an α of 0.7 unless one is given, and
// everything is added before the one normalisation.
func TestWhitenBesideRLR(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	const d, vocab = 16, 80
	sums, all := corpusSums(r, d, vocab, 120)
	for _, alpha := range []float64{0, 0.3} {
		m := build(t, "whiten+rlr", Parts{Sums: sums, RLR: RLROptions{Alpha: alpha}})
		in := Input{Tokens: randomTokens(r, vocab, 4), Dense: unit(r, d)}
		reg, err := newRLR(sums, RLROptions{Alpha: alpha})
		if err != nil {
			t.Fatal(err)
		}
		l := make([]float32, d)
		if !reg.AddShift(l, in) {
			t.Fatal("RLR has no shift")
		}
		want := make([]float32, d)
		for i, x := range whitened(all, in.Dense, 1) {
			f := float32(1)
			if alpha == 0 {
				f = 0.7 / 0.5
			}
			want[i] = in.Dense[i] + float32(x) + f*l[i]
		}
		vec.Normalize(want)
		if diff := maxDiff(m.Modulate(nil, in), want); diff > 1e-5 {
			t.Fatalf("alpha %v: differs from its definition by %g", alpha, diff)
		}
	}
}

// Passages vary much in a few directions, which say what they are about, and
// little in the others. A query is a passage with noise of the same shape.
// Whitening finds more of them, with the sums of other passages than those that
// are searched.
func TestWhitenServesUnseenPassages(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	const d, vocab, n = 32, 40, 600
	draw := func(size float64) []float64 {
		x := make([]float64, d)
		for i := range x {
			x[i] = size * r.NormFloat64()
			if i >= 4 {
				x[i] /= 8
			}
		}
		return x
	}
	var all []passage
	var searched, queries [][]float32
	for i := range 2 * n {
		x, noise := draw(1), draw(0.5)
		p, q := make([]float32, d), make([]float32, d)
		for k := range x {
			p[k], q[k] = float32(x[k]), float32(x[k]+noise[k])
		}
		vec.Normalize(p)
		vec.Normalize(q)
		if i%2 == 0 {
			all = append(all, passage{x: p, tokens: []int32{int32(2 + r.IntN(vocab-2))}})
			continue
		}
		searched, queries = append(searched, p), append(queries, q)
	}
	m := build(t, "whiten", Parts{Sums: sumsOver(d, vocab, all...)})
	found := func(modulate bool) (first int) {
		for i, q := range queries {
			if modulate {
				q = m.Modulate(nil, Input{Tokens: tokens(2), Dense: q})
			}
			best, at := math.Inf(-1), -1
			for k, p := range searched {
				if s := dot64(q, p); s > best {
					best, at = s, k
				}
			}
			if at == i {
				first++
			}
		}
		return first
	}
	plain, whitened := found(false), found(true)
	t.Logf("of %d queries %d find their passage first, whitened %d", n, plain, whitened)
	if whitened < plain+n/20 {
		t.Errorf("of %d queries %d find their passage first, whitened only %d", n, plain, whitened)
	}
}

func TestWhitenWithoutSums(t *testing.T) {
	if _, err := NewStack("whiten", Parts{}); !errors.Is(err, ErrNotFitted) {
		t.Errorf("without sums: %v", err)
	}
	if _, err := NewStack("whiten", Parts{Sums: emptySums(4, 4), RLR: RLROptions{Lambda: -1}}); !errors.Is(err, ErrOptions) {
		t.Errorf("a negative lambda: %v", err)
	}
	// The mean itself has no direction.
	mean := passage{x: []float32{0.6, 0.8, 0}, tokens: []int32{2}}
	in := Input{Tokens: tokens(2), Dense: []float32{0.6, 0.8, 0}}
	if got := build(t, "whiten", Parts{Sums: sumsOver(3, 4, mean, mean)}).Modulate(nil, in); !same(got, in.Dense) {
		t.Errorf("the mean became %v", got)
	}
}
