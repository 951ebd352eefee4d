package ridge

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/internal/vec"
)

// regression is what Sums answer from, written out: μ, A and XᵀB of all passages.
type regression struct {
	mean  []float64
	a     *mat.Dense // [d × d]
	cross *mat.Dense // [d × vocab]
	df    []float64
}

func regressionOf(all []passage, d, vocab int, lambda float64) regression {
	g := regression{mean: make([]float64, d), df: make([]float64, vocab)}
	for _, p := range all {
		for i, x := range p.x {
			g.mean[i] += float64(x) / float64(len(all))
		}
	}
	x, b := mat.NewDense(len(all), d, nil), mat.NewDense(len(all), vocab, nil)
	for i, p := range all {
		for j, f := range p.x {
			x.Set(i, j, float64(f)-g.mean[j])
		}
		for _, t := range p.tokens {
			b.Set(i, int(t), 1)
		}
	}
	for t := range g.df {
		g.df[t] = mat.Sum(b.ColView(t))
	}
	g.a, g.cross = new(mat.Dense), new(mat.Dense)
	g.a.Mul(x.T(), x)
	for i := range d {
		g.a.Set(i, i, g.a.At(i, i)+lambda)
	}
	g.cross.Mul(x.T(), b)
	return g
}

func TestCrossScatterEqualsItsDefinition(t *testing.T) {
	const d, vocab, n = 16, 60, 90
	for _, rowOver := range []int{0, 1 << 16} {
		r := rand.New(rand.NewPCG(3, uint64(rowOver)))
		g := newGrowing(d, vocab)
		g.rowOver = rowOver
		for range n {
			g.add(randomPassage(r, d, vocab))
		}
		want := regressionOf(g.all, d, vocab, 1).cross
		got := make([]float64, d)
		for range 30 {
			ids := randomIDs(r, vocab, 6)
			weights := make([]float64, len(ids))
			for i := range weights {
				weights[i] = r.NormFloat64()
			}
			for i := range got {
				got[i] = 99 // what was there before counts for nothing
			}
			length, err := g.CrossScatter(t.Context(), got, ids, weights)
			if err != nil {
				t.Fatal(err)
			}
			var ss float64
			for i, x := range got {
				var sum float64
				for k, id := range ids {
					sum += weights[k] * want.At(i, int(id))
				}
				if !(math.Abs(x-sum) < 1e-5) {
					t.Fatalf("rows over %d passages: component %d is %g, want %g", rowOver, i, x, sum)
				}
				ss += x * x
			}
			if math.Abs(length-math.Sqrt(ss)) > 1e-12 {
				t.Fatalf("a length of %g, want %g", length, math.Sqrt(ss))
			}
		}
	}
}

// Tokens of every passage, of none, and a corpus of one vector have no direction,
// however the sums were made.
func TestCrossScatterWithoutDirection(t *testing.T) {
	for _, rowOver := range []int{0, 1 << 16} {
		r := rand.New(rand.NewPCG(4, 4))
		const d, vocab = 16, 20
		g := newGrowing(d, vocab)
		g.rowOver = rowOver
		check := func(why string, ids ...int32) {
			t.Helper()
			weights := make([]float64, len(ids))
			for i := range weights {
				weights[i] = 1 + r.Float64()
			}
			length, err := g.CrossScatter(t.Context(), make([]float64, d), ids, weights)
			if err != nil || length != 0 {
				t.Errorf("%s: a length of %g, %v", why, length, err)
			}
		}
		check("empty corpus", 5)
		x := unit(r, d)
		for range 50 {
			g.add(passage{x: x, tokens: []int32{5, 6}})
		}
		check("token of every passage", 5, 6)
		for range 30 {
			g.add(passage{x: x, tokens: []int32{7}})
		}
		check("all vectors equal", 5, 7)
		check("token never seen", 9)
		check("token outside the vocabulary", 20, -1)
		g.remove(70)
		check("all vectors equal after a delete", 7)

		for range 10 {
			g.add(passage{x: unit(r, d), tokens: []int32{8, 9}})
		}
		for i := range g.all { // 4 in every passage
			g.all[i].tokens = append(slices.Clone(g.all[i].tokens), 4)
		}
		all := newGrowing(d, vocab)
		all.rowOver = rowOver
		all.add(g.all...)
		without, with := make([]float64, d), make([]float64, d)
		if length, err := all.CrossScatter(t.Context(), without, []int32{8}, []float64{1}); length == 0 || err != nil {
			t.Fatalf("a length of %g, %v", length, err)
		}
		if _, err := all.CrossScatter(t.Context(), with, []int32{4, 8}, []float64{1, 1}); err != nil || !slices.Equal(with, without) {
			t.Errorf("a token of every passage adds something: %v", err)
		}
	}
}

func TestCentre(t *testing.T) {
	const d, vocab = 12, 30
	r := rand.New(rand.NewPCG(3, 2))
	if newGrowing(d, vocab).Centre(make([]float32, d), unit(r, d)) {
		t.Error("a direction from the mean of nothing")
	}
	g := randomCorpus(r, d, vocab, 40)
	mean := regressionOf(g.all, d, vocab, 1).mean
	x := unit(r, d)
	got := slices.Clone(x)
	if !g.Centre(got, got) {
		t.Fatal("no direction")
	}
	for i := range got {
		if math.Abs(float64(got[i])-(float64(x[i])-mean[i])) > 1e-6 {
			t.Errorf("component %d is %g, want %g", i, got[i], float64(x[i])-mean[i])
		}
	}
	if g.Centre(got, x[1:]) || g.Centre(got[1:], x) {
		t.Error("a vector of another length has a direction")
	}
	same := newGrowing(3, 4)
	for range 3 {
		same.add(passage{x: []float32{0.6, 0.8, 0}, tokens: []int32{2}})
	}
	if same.Centre(make([]float32, 3), []float32{0.6, 0.8, 0}) {
		t.Error("the mean has a direction")
	}
}

func TestSolve(t *testing.T) {
	const d, vocab, lambda = 40, 30, 0.4
	r := rand.New(rand.NewPCG(3, 3))
	g := randomCorpus(r, d, vocab, 90)
	s, err := g.WithRidge(t.Context(), lambda)
	if err != nil {
		t.Fatal(err)
	}
	a := regressionOf(g.all, d, vocab, lambda).a
	f, got := unit(r, d), make([]float32, d)
	if err := s.Solve(got, f); err != nil {
		t.Fatal(err)
	}
	var want mat.VecDense
	b := mat.NewVecDense(d, nil)
	for i, x := range f {
		b.SetVec(i, float64(x))
	}
	if err := want.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if math.Abs(float64(x)-want.AtVec(i)) > 1e-5 {
			t.Errorf("component %d is %g, want %g", i, x, want.AtVec(i))
		}
	}
	for _, err := range []error{s.Solve(got[1:], f), s.Solve(got, f[1:])} {
		if !errors.Is(err, ErrOptions) {
			t.Errorf("another length: %v", err)
		}
	}
	if _, err := s.CrossScatter(t.Context(), make([]float64, d-1), nil, nil); !errors.Is(err, ErrOptions) {
		t.Errorf("another length: %v", err)
	}
	if _, err := s.CrossScatter(t.Context(), make([]float64, d), []int32{3}, nil); !errors.Is(err, ErrOptions) {
		t.Errorf("a token without a weight: %v", err)
	}
	if s.Err() != nil {
		t.Errorf("a mistake of the caller is damage: %v", s.Err())
	}

	for what, ask := range map[string]func(s *Sums) error{
		"Solve":   func(s *Sums) error { return s.Solve(got, f) },
		"Regress": func(s *Sums) error { _, _, err := s.Regress(t.Context(), []int32{3}); return err },
	} {
		damaged := *s
		damaged.history = &history{}
		damaged.inverse.check = func() error { return errors.New("a block is not what it was") }
		damaged.inverse.packed = slices.Clone(damaged.factor.packed)
		if err := ask(&damaged); !errors.Is(err, ErrCorrupt) || !errors.Is(damaged.Err(), ErrCorrupt) {
			t.Errorf("%s with a damaged inverse: %v, and then %v", what, err, damaged.Err())
		}
	}

	many := newGrowing(340, vocab) // too many passages at once for steps
	var ps []passage
	for range 400 {
		ps = append(ps, randomPassage(r, 340, vocab))
	}
	many.add(ps...)
	if many.Ready() || !errors.Is(many.Solve(make([]float32, 340), unit(r, 340)), ErrNoFactor) {
		t.Error("an answer without a factor")
	}
	many.settle(t)
	many.add(ps...)
	if n, _ := many.Staleness(); n == 0 || !many.Ready() || many.Solve(make([]float32, 340), unit(r, 340)) != nil {
		t.Errorf("no answer from a stale factor (%d changes)", n)
	}
}

func TestRegressEqualsItsDefinition(t *testing.T) {
	const d, vocab, n, lambda = 8, 20, 40, 0.7
	r := rand.New(rand.NewPCG(4, 4))
	g := randomCorpus(r, d, vocab, n)
	for id := range g.all { // a token of none
		g.all[id].tokens = slices.DeleteFunc(slices.Clone(g.all[id].tokens), func(t int32) bool { return t == 5 })
	}
	s, err := fresh(t, d, vocab, g.all).WithRidge(t.Context(), lambda)
	if err != nil {
		t.Fatal(err)
	}
	def := regressionOf(g.all, d, vocab, lambda)
	var want mat.Dense
	if err := want.Solve(def.a, def.cross); err != nil {
		t.Fatal(err)
	}
	ids := []int32{7, 5, 3, 11, vocab, -1}
	if s, err = s.Compacted(t.Context()); err != nil { // in one piece tokens lie in tables, whose bounds count
		t.Fatal(err)
	}
	u, b, err := s.Regress(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	x := unit(r, d)
	for row, id := range ids {
		var score float64
		if id >= 0 && id < vocab {
			score = def.df[id] / n
			for i := range d {
				score += (float64(x[i]) - def.mean[i]) * want.At(i, int(id))
			}
		}
		if got := float64(vec.Dot(x, u[row*d:(row+1)*d]) + b[row]); math.Abs(got-score) > 1e-5 {
			t.Errorf("token %d scores %g, want %g", id, got, score)
		}
	}
	if _, _, err := newGrowing(d, vocab).Regress(t.Context(), ids); !errors.Is(err, ErrOptions) {
		t.Errorf("no passages: %v", err)
	}

	many := newGrowing(340, vocab) // too many passages at once for steps
	var ps []passage
	for range 400 {
		ps = append(ps, randomPassage(r, 340, vocab))
	}
	many.add(ps...)
	if many.Ready() {
		t.Fatal("the sums are not stale")
	}
	u, b, err = many.Regress(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	many.settle(t)
	u2, b2, err := many.Regress(t.Context(), ids)
	if err != nil || maxDiff(u, u2) > 1e-6 || maxDiff(b, b2) > 1e-6 {
		t.Errorf("stale sums regress to others, by %g and %g: %v", maxDiff(u, u2), maxDiff(b, b2), err)
	}
}

func TestLambda(t *testing.T) {
	for in, want := range map[float64]float64{0: 1, 1e-6: 1e-6, 0.3: 0.3, 1e9: 1e9} {
		if got, err := Lambda(in); got != want || err != nil {
			t.Errorf("%g became %g, %v", in, got, err)
		}
	}
	g := randomCorpus(rand.New(rand.NewPCG(3, 6)), 6, 10, 9)
	for _, in := range []float64{-1, 9e-7, 2e9, math.NaN(), math.Inf(1)} {
		if _, err := Lambda(in); !errors.Is(err, ErrOptions) {
			t.Errorf("%g: %v", in, err)
		}
		if s, err := g.WithRidge(t.Context(), in); s != nil || !errors.Is(err, ErrOptions) {
			t.Errorf("WithRidge of %g: %v", in, err)
		}
	}
	for _, its := range []float64{0, 1} {
		if s, err := g.WithRidge(t.Context(), its); s != g.Sums || err != nil {
			t.Errorf("the ridge of the sums makes other sums: %v", err)
		}
	}
	s, err := g.WithRidge(t.Context(), 3)
	if err != nil || s.Lambda() != 3 || g.Lambda() != 1 || s.Verify(t.Context()) != nil {
		t.Errorf("ridges %g and %g: %v", s.Lambda(), g.Lambda(), err)
	}
}
