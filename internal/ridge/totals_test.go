package ridge

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
)

const totalsDim, totalsVocab = 24, 90

// somePassages are n passages, some with a token twice, and the totals of all.
func somePassages(t *testing.T, seed uint64, n int) (ps []passage, whole *Totals) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	whole = newTotals(t)
	for range n {
		p := randomPassage(r, totalsDim, totalsVocab)
		p.tokens = append(p.tokens, p.tokens[:min(1, len(p.tokens))]...)
		ps = append(ps, p)
		if err := whole.Add(p.x, p.tokens); err != nil {
			t.Fatal(err)
		}
	}
	return ps, whole
}

func newTotals(t *testing.T) *Totals {
	t.Helper()
	s, err := NewTotals(totalsDim, totalsVocab)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sumsOf(t *testing.T, s *Totals, lambda float64) *Sums {
	t.Helper()
	sums, err := s.Sums(t.Context(), lambda)
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestTotalsMerge: totals made part by part and merged give the sums that are made of
// the whole, to float32, and those that Sums of the passages themselves give.
func TestTotalsMerge(t *testing.T) {
	for _, n := range []int{0, 1, 5, 400, 1100} {
		ps, whole := somePassages(t, uint64(n), n)
		parts := []*Totals{newTotals(t), newTotals(t), newTotals(t)}
		for i, p := range ps {
			if err := parts[i%3].Add(p.x, p.tokens); err != nil {
				t.Fatal(err)
			}
		}
		merged := newTotals(t)
		for _, i := range []int{2, 0, 1} {
			if err := merged.Merge(parts[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, lambda := range []float64{1, 0.1} {
			a, b := sumsOf(t, whole, lambda), sumsOf(t, merged, lambda)
			fresh, err := SumsOf(t.Context(), totalsDim, totalsVocab, n, func(i int) []float32 { return ps[i].x }, func(i int) ([]int32, error) { return ps[i].tokens, nil })
			if err != nil {
				t.Fatal(err)
			}
			if fresh, err = fresh.WithRidge(t.Context(), lambda); err != nil {
				t.Fatal(err)
			}
			if a.Len() != n || b.Len() != n {
				t.Fatalf("%d and %d passages of %d", a.Len(), b.Len(), n)
			}
			for id := range int32(totalsVocab) {
				if a.DF(id) != fresh.DF(id) || b.DF(id) != fresh.DF(id) {
					t.Fatalf("token %d is in %d, %d and %d passages", id, a.DF(id), b.DF(id), fresh.DF(id))
				}
				ra, rb := a.tokens.At(int(id)).row, b.tokens.At(int(id)).row
				if (ra == nil) != (rb == nil) || ra != nil && !same(ra.sum, rb.sum) && maxDiff(ra.sum, rb.sum) > 1e-6 {
					t.Fatalf("token %d: rows %v and %v", id, ra, rb)
				}
				ids, weights := []int32{id, (id + 7) % totalsVocab}, []float64{1.5, .5}
				var g [3][]float64
				var l [3][]float32
				for k, s := range []*Sums{a, b, fresh} {
					g[k], l[k] = make([]float64, totalsDim), make([]float32, totalsDim)
					size, err := s.CrossScatter(t.Context(), g[k], ids, weights)
					if err != nil {
						t.Fatal(err)
					}
					f := make([]float32, totalsDim)
					for i, x := range g[k] {
						f[i] = float32(x)
					}
					if n > 0 && size > 0 {
						if err := s.Solve(l[k], f); err != nil {
							t.Fatal(err)
						}
					}
				}
				size := float64(vec.Norm(l[0]))
				if d := maxDiff(l[0], l[1]); d > 1e-5*size {
					t.Fatalf("n %d, token %d: merged totals answer %g from those of the whole", n, id, d)
				}
				if d := maxDiff(l[0], l[2]); d > 1e-4*size {
					t.Fatalf("n %d, token %d: totals answer %g from sums of the passages", n, id, d)
				}
			}
		}
	}
}

// TestTotalsFile: what was saved is read again to the last bit, and every damage is told.
func TestTotalsFile(t *testing.T) {
	testTotalsFile(t, 0)
	testTotalsFile(t, 999)
}

func testTotalsFile(t *testing.T, number int) {
	_, whole := somePassages(t, 3, 50)
	save := func(s *Totals) []byte {
		var b bytes.Buffer
		w := snapshot.NewWriter(&b, snapshot.Header{Kind: "totals", Version: 1})
		s.Save(w, number)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	open := func(raw []byte) (*Totals, error) {
		f, err := snapshot.Parse(raw)
		if err != nil {
			return nil, err
		}
		return OpenTotals(f, number)
	}
	raw := save(whole)
	again, err := open(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(save(again), raw) {
		t.Error("saved, read and saved again it is another file")
	}
	for at := 0; at < len(raw); at += 97 {
		bad := bytes.Clone(raw)
		bad[at] ^= 0x10
		if got, err := open(bad); err == nil && !bytes.Equal(save(got), raw) {
			t.Fatalf("a changed byte %d of %d is not told", at, len(raw))
		}
	}
	// Whole files whose numbers cannot be.
	for what, spoil := range map[string]func(*Totals){
		"more passages with a token than there are": func(s *Totals) { s.df[0] = 51 },
		"a sum that is no number":                   func(s *Totals) { s.sum[0] = math.NaN() },
		"a product that is no number":               func(s *Totals) { s.products[0] = math.Inf(1) },
	} {
		bad, err := open(raw)
		if err != nil {
			t.Fatal(err)
		}
		if bad.rows[0] == nil {
			bad.rows[0] = make([]float64, totalsDim)
		}
		spoil(bad)
		if _, err := open(save(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTotalsBesideOthers: a snapshot holds several by their numbers.
func TestTotalsBesideOthers(t *testing.T) {
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, snapshot.Header{Kind: "totals", Version: 1})
	for i := range 3 {
		_, some := somePassages(t, 3, 10+i)
		some.Save(w, i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if got, err := OpenTotals(f, i); err != nil || got.Len() != 10+i {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := OpenTotals(f, 3); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestTotalsRefuse(t *testing.T) {
	for _, shape := range [][2]int{{0, 1}, {1, 0}, {maxDim + 1, 1}, {1, -1}} {
		if _, err := NewTotals(shape[0], shape[1]); !errors.Is(err, ErrOptions) {
			t.Errorf("shape %v: %v", shape, err)
		}
	}
	s := newTotals(t)
	x := make([]float32, totalsDim)
	for _, bad := range []passage{{x: x[1:]}, {x: append([]float32{float32(math.NaN())}, x[1:]...)}, {x: x, tokens: []int32{-1}}, {x: x, tokens: []int32{1, totalsVocab}}} {
		if err := s.Add(bad.x, bad.tokens); !errors.Is(err, ErrPassage) || s.Len() != 0 || s.df[1] != 0 {
			t.Errorf("%v: %v, %d passages", bad, err, s.Len())
		}
	}
	o, err := NewTotals(totalsDim, totalsVocab+1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(o); !errors.Is(err, ErrOptions) {
		t.Errorf("merge of another vocabulary: %v", err)
	}
	_, s = somePassages(t, 4, 30)
	sums := sumsOf(t, s, 0)
	if err := sums.Edit().Add(1, make([]float32, totalsDim), nil); !errors.Is(err, ErrPassage) {
		t.Errorf("edit: %v", err)
	}
	if _, err := sums.Compacted(t.Context()); !errors.Is(err, ErrPassage) {
		t.Errorf("compacted: %v", err)
	}
	if _, err := s.Sums(t.Context(), -1); !errors.Is(err, ErrOptions) {
		t.Errorf("ridge -1: %v", err)
	}
}
