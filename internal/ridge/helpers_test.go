package ridge

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/testcorpus"
	"github.com/lexsem/lexsem/internal/vec"
)

var unit, same, maxDiff, randomIDs = testcorpus.Unit, testcorpus.Same, testcorpus.MaxDiff, testcorpus.IDs

type passage struct {
	id     uint64
	x      []float32
	tokens []int32
}

func randomPassage(r *rand.Rand, d, vocab int) (p passage) {
	p.x, p.tokens = testcorpus.Passage(r, d, vocab)
	return p
}

// growing is a corpus that changes, and its present sums.
type growing struct {
	*Sums
	all  []passage
	next uint64
	mu   sync.RWMutex
	x    map[uint64][]float32
}

func newGrowing(d, vocab int) *growing {
	g := &growing{x: map[uint64][]float32{}}
	var err error
	if g.Sums, err = NewSums(d, vocab, 0, g.vector); err != nil {
		panic(err)
	}
	return g
}

// vector is in space, so that one that is kept beyond the next call is another's.
func (g *growing) vector(id uint64, space *[]float32) []float32 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	x, ok := g.x[id]
	if !ok || space == nil {
		return x
	}
	*space = append((*space)[:0], x...)
	return *space
}

// take makes passages known without adding them to the sums.
func (g *growing) take(ps []passage) (ids []uint64, xs [][]float32, tokens [][]int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range ps {
		g.next++
		ps[i].id = g.next | uint64(i%3)<<44 // as pieces of documents
		g.x[ps[i].id] = ps[i].x
		ids, xs, tokens = append(ids, ps[i].id), append(xs, ps[i].x), append(tokens, ps[i].tokens)
	}
	return ids, xs, tokens
}

func (g *growing) add(ps ...passage) {
	e := g.Edit()
	if err := e.AddAll(g.take(ps)); err != nil {
		panic(err)
	}
	g.all = append(g.all, ps...)
	g.done(e)
}

// remove takes out the passages at these places of all, the first first.
func (g *growing) remove(places ...int) {
	e := g.Edit()
	for _, i := range places {
		p := g.all[i]
		if err := e.Remove(p.id, p.x, p.tokens); err != nil {
			panic(err)
		}
		g.all = slices.Delete(slices.Clone(g.all), i, i+1)
	}
	g.done(e)
}

func (g *growing) done(e *Edit) {
	s, err := e.Done()
	if err != nil {
		panic(err)
	}
	g.Sums = s
}

// settle puts a factor of the present passages under the sums.
func (g *growing) settle(t testing.TB) {
	t.Helper()
	f, err := g.Factor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g.Sums, err = g.WithFactor(f); err != nil {
		t.Fatal(err)
	}
}

// fresh are sums made in one go of all passages.
func fresh(t testing.TB, d, vocab int, all []passage) *Sums {
	t.Helper()
	s, err := SumsOf(context.Background(), d, vocab, len(all),
		func(i int) []float32 { return all[i].x },
		func(i int) ([]int32, error) { return all[i].tokens, nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomCorpus is one of n passages whose vectors lean towards the directions of
// their tokens, so that there is something to regress.
func randomCorpus(r *rand.Rand, d, vocab, n int) *growing {
	g := newGrowing(d, vocab)
	for range n {
		g.add(randomPassage(r, d, vocab))
	}
	return g
}

// question is what a query asks of sums: by its tokens, and by its vector.
type question struct {
	ids []int32
	x   []float32
}

func someQuestions(r *rand.Rand, d, vocab, n int) []question {
	qs := make([]question, n)
	for i := range qs {
		qs[i] = question{randomIDs(r, vocab, 5), unit(r, d)}
	}
	return qs
}

// answer is A⁻¹ of the cross-scatter of the tokens, weighted by idf, and A⁻¹(x − μ), both
// of unit length, or zero where there is none.
func answer(ctx context.Context, s *Sums, q question) (l, u []float32, err error) {
	g, weights := make([]float64, s.Dim()), make([]float64, len(q.ids))
	for i, t := range q.ids {
		weights[i] = math.Log1p((float64(s.Len()-s.DF(t)) + 0.5) / (float64(s.DF(t)) + 0.5))
	}
	l, u = make([]float32, s.Dim()), make([]float32, s.Dim())
	size, err := s.CrossScatter(ctx, g, q.ids, weights)
	if err != nil {
		return l, u, err
	}
	f := make([]float32, s.Dim())
	if size > 0 {
		for i, x := range g {
			f[i] = float32(x / size)
		}
		if err := s.Solve(l, f); err != nil {
			return l, u, err
		}
	}
	if s.Centre(f, q.x) {
		if err := s.Solve(u, f); err != nil {
			return l, u, err
		}
	}
	for _, x := range [][]float32{l, u} {
		if !vec.Normalize(x) { // beyond all numbers: there is no direction to it
			clear(x)
		}
	}
	return l, u, nil
}

// answers are those to several questions, none where there was never a factor.
func answers(t testing.TB, s *Sums, qs []question) (out [][]float32) {
	t.Helper()
	for _, q := range qs {
		l, u, err := answer(t.Context(), s, q)
		if err != nil && !errors.Is(err, ErrNoFactor) {
			t.Fatal(err)
		}
		out = append(out, l, u)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func worst(a, b [][]float32) (most float64) {
	for i := range a {
		most = max(most, maxDiff(a[i], b[i]))
	}
	return most
}

// Add takes in one passage, as AddAll does several.
func (e *Edit) Add(id uint64, x []float32, tokens []int32) error {
	return e.AddAll([]uint64{id}, [][]float32{x}, [][]int32{tokens})
}

// Remove takes out a passage that is there, with its vector and tokens. What
// cannot have been added is an ErrPassage. Cost as Add's.
func (e *Edit) Remove(id uint64, x []float32, tokens []int32) error {
	return e.RemoveAll([]uint64{id}, [][]float32{x}, [][]int32{tokens})
}
