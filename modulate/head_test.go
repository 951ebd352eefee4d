package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/internal/vec"
)

// The closed-form head against ridge regression written out: centred passages,
// the presence matrix, and a solver.
func TestHeadIsRidgeRegression(t *testing.T) {
	const d, vocab, n, lambda = 8, 20, 40, 0.7
	r := rand.New(rand.NewPCG(4, 4))
	sums, all := corpusSums(r, d, vocab, n)
	h, err := newHead(sums, headOptions{Lambda: lambda, MinDF: 1, MaxShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float64, d)
	for _, p := range all {
		for i, x := range p.x {
			mean[i] += float64(x) / n
		}
	}
	x, presence := mat.NewDense(n, d, nil), mat.NewDense(n, vocab, nil)
	for i, p := range all {
		for j, f := range p.x {
			x.Set(i, j, float64(f)-mean[j])
		}
		for _, id := range p.tokens {
			presence.Set(i, int(id), 1)
		}
	}
	var a, xb, want mat.Dense
	a.Mul(x.T(), x)
	for i := range d {
		a.Set(i, i, a.At(i, i)+lambda)
	}
	xb.Mul(x.T(), presence)
	if err := want.Solve(&a, &xb); err != nil {
		t.Fatal(err)
	}
	q := unit(r, d)
	for row, id := range h.Tokens {
		var score float64
		for i := range d {
			if diff := math.Abs(want.At(i, int(id)) - float64(h.U[row*d+i])); diff > 1e-5 {
				t.Fatalf("token %d, component %d is off by %g", id, i, diff)
			}
			score += (float64(q[i]) - mean[i]) * want.At(i, int(id))
		}
		score += float64(sums.DF(id)) / n
		if got := float64(vec.Dot(q, h.U[row*d:(row+1)*d]) + h.B[row]); math.Abs(got-score) > 1e-5 {
			t.Fatalf("token %d scores %g, want %g", id, got, score)
		}
	}
}

func TestHeadOptions(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	sums, _ := corpusSums(r, 8, 40, 30)
	h, err := newHead(sums, headOptions{MinDF: 3, MaxShare: 0.4, MaxRows: 5})
	if err != nil || h.Rows() != 5 || !slices.IsSorted(h.Tokens) {
		t.Fatalf("%v, %+v", err, h)
	}
	least := 30
	for _, id := range h.Tokens {
		if df := sums.DF(id); df < 3 || df > 12 {
			t.Errorf("token %d with df %d has a row", id, df)
		} else {
			least = min(least, df)
		}
	}
	for id := range int32(40) {
		if df := sums.DF(id); df > least && df <= 12 && h.row(id) < 0 {
			t.Errorf("token %d with df %d has no row, one with %d has", id, df, least)
		}
	}
	for _, o := range []headOptions{{MaxShare: 1}, {MinDF: 1}, {MinDF: 1, MaxShare: 2}, {MinDF: 1, MaxShare: 1, Lambda: -1}, {MinDF: 1, MaxShare: 1, MaxRows: -1}} {
		if _, err := newHead(sums, o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	if _, err := newHead(emptySums(8, 40), headOptions{MinDF: 1, MaxShare: 1}); !errors.Is(err, ErrNotFitted) {
		t.Errorf("no passages: error %v", err)
	}
}

// The lists of llr-full against a sort of all cosines.
func TestNearestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	const n, d, k = 150, 6, 8
	h := &Head{B: make([]float32, n)}
	for range n {
		h.Tokens = append(h.Tokens, int32(len(h.Tokens)))
		u := unit(r, d)
		vec.Scale(u, 1+r.Float32()*9)
		h.U = append(h.U, u...)
	}
	h.Near = h.nearest(k)
	for i := range n {
		cosine := func(j int32) float64 {
			a, b := h.U[i*d:(i+1)*d], h.U[int(j)*d:int(j+1)*d]
			return float64(vec.Dot(a, b)) / float64(vec.Norm(a)*vec.Norm(b))
		}
		want := slices.Clone(h.Tokens)
		slices.SortFunc(want, func(a, b int32) int {
			if cosine(a) > cosine(b) {
				return -1
			}
			return 1
		})
		if got := h.near(i); got[0] != int32(i) || !slices.Equal(got, want[:k]) {
			t.Fatalf("row %d: near %v, want %v", i, got, want[:k])
		}
	}
}
