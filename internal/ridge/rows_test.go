package ridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
)

// A token has a row from the passage on that is beyond d/32, of a large corpus beyond 3d/20,
// and Compacted takes it away below that.
func TestFrequentTokensHaveRows(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for _, c := range []struct{ d, n, over int }{
		{384, 100, 12}, {384, 8192, 12}, {384, 20_000, 29}, {384, 100_000, 57}, {384, 10_000_000, 57}, {3072, 2000, 96}, {3072, 50_000, 460},
	} {
		s := &Sums{dim: c.d, n: c.n, rowOver: -1}
		if s.keeps(c.over) || !s.keeps(c.over+1) {
			t.Errorf("%d vectors of %d: rows are not those of tokens with more than %d", c.n, c.d, c.over)
		}
	}
	for _, d := range []int{32, 64, 128} {
		g := newGrowing(d, 5)
		has := func(s *Sums) bool { return s.tokens.At(3).row != nil }
		for n := 1; n <= d/4; n++ {
			g.add(passage{x: unit(r, d), tokens: []int32{3}})
			if has(g.Sums) != (n > d/32) {
				t.Errorf("d %d: token of %d passages: row %v", d, n, has(g.Sums))
			}
		}
		for g.DF(3) > 0 {
			c, err := g.Compacted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := c.DF(3); has(c) != (n > d/32) {
				t.Errorf("d %d: token of %d passages, compacted: row %v", d, n, has(c))
			}
			g.remove(0)
		}
	}
}

// A sum from the vectors is that of adding one after the other, bit for bit, however
// many there are, and names the vector that is missing.
func TestSumUp(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	const d, weight = 7, 0.3
	g := newGrowing(d, 5)
	g.rowOver = 1 << 40
	e := g.Edit()
	for n := range 3*ahead + 2 {
		ps := []passage{{x: unit(r, d), tokens: []int32{3}}}
		if err := e.AddAll(g.take(ps)); err != nil {
			t.Fatal(err)
		}
		g.all = append(g.all, ps...)
		if n%5 == 4 { // some are gone again
			p := g.all[n/2]
			if err := e.Remove(p.id, p.x, p.tokens); err != nil {
				t.Fatal(err)
			}
			g.all[n/2].tokens = nil
		}
		s, err := e.Done()
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]float64, d), make([]float64, d)
		count := 0
		for _, p := range g.all {
			if p.tokens != nil {
				vec.AxpyWide(want, weight, p.x)
				count++
			}
		}
		if err := s.sumUp(t.Context(), got, weight, 3, s.tokens.At(3)); err != nil || !slices.Equal(got, want) || count != s.DF(3) {
			t.Fatalf("%d of %d passages: %v, want %v, error %v", s.DF(3), n+1, got, want, err)
		}
		lost := g.all[r.IntN(n+1)]
		for lost.tokens == nil {
			lost = g.all[r.IntN(n+1)]
		}
		torn := *s
		torn.history = &history{}
		torn.vectors = func(id uint64, space *[]float32) []float32 {
			if id == lost.id {
				return nil
			}
			return g.vector(id, space)
		}
		if err := torn.sumUp(t.Context(), got, weight, 3, s.tokens.At(3)); !errors.Is(err, ErrCorrupt) || err.Error() != fmt.Sprintf("%v", torn.Err()) {
			t.Fatalf("without a vector: %v, then %v", err, torn.Err())
		}
		e = s.Edit()
	}
}

// B·f is that of the whole symmetric matrix, in any dimension, of one f or several.
func TestProductWithAFactor(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 3))
	for d := 1; d <= 70; d++ {
		v := inverse{lambda: 1}
		whole := make([]float64, d*d)
		for i := range d {
			for j := i; j < d; j++ {
				x := float32(r.NormFloat64())
				v.packed = append(v.packed, x)
				whole[i*d+j], whole[j*d+i] = float64(x), float64(x)
			}
		}
		fs, us := make([][]float32, 1+d%3), make([][]float32, 1+d%3)
		for k := range fs {
			fs[k], us[k] = unit(r, d), unit(r, d)
		}
		if err := v.mul(us, fs); err != nil {
			t.Fatal(err)
		}
		for k, f := range fs {
			for i := range d {
				var want float64
				for j, x := range f {
					want += whole[i*d+j] * float64(x)
				}
				if diff := float64(us[k][i]) - want; !(diff*diff < 1e-11) {
					t.Fatalf("dimension %d, component %d of product %d: %g, want %g", d, i, k, us[k][i], want)
				}
			}
		}
	}
}

// A sum of many vectors ends with its context, soon after.
func TestSumUpObeysItsContext(t *testing.T) {
	const d = 2048
	g := newGrowing(d, 5)
	g.rowOver = 1 << 40
	x, ps := unit(rand.New(rand.NewPCG(12, 4)), d), make([]passage, 600)
	for i := range ps {
		ps[i] = passage{x: x, tokens: []int32{3}}
	}
	e := g.Edit()
	if err := e.AddAll(g.take(ps)); err != nil {
		t.Fatal(err)
	}
	s, err := e.done(false)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	s.vectors = func(_ uint64, space *[]float32) []float32 {
		if *space == nil {
			*space, made = x, made+1
		}
		return x
	}
	if err := s.sumUp(t.Context(), make([]float64, d), 1, 3, s.tokens.At(3)); err != nil || made != ahead {
		t.Errorf("%d spaces for the vectors of %d passages, not %d: %v", made, len(ps), ahead, err)
	}
	for _, end := range []int{0, 200} {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		s.vectors = func(uint64, *[]float32) []float32 {
			if asked++; asked == end {
				cancel()
			}
			return x
		}
		if end == 0 {
			cancel()
		}
		err := s.sumUp(ctx, make([]float64, d), 1, 3, s.tokens.At(3))
		if most := end + 1<<18/d + 2*ahead; !errors.Is(err, context.Canceled) || asked > most || end == 0 && asked > 0 {
			t.Errorf("ended at vector %d: %v after %d", end, err, asked)
		}
		cancel()
	}
}
