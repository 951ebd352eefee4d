package ridge

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// After random edits each of many Sums that are still in use equals Sums made
// afresh of the passages it stands for, whatever was made of it later: with rows
// and without, with an inverse from steps and from factors, compacted and
// rebased in between.
func TestSumsEqualFreshOnes(t *testing.T) {
	for _, c := range []struct {
		d, rowOver int
		tolerance  float64
	}{
		{4, 1 << 16, 1e-5}, {32, 1 << 16, 1e-5}, {32, 6, 1e-5}, {32, 0, 1e-5},
		{200, 10, 1e-5}, {340, 10, 1e-5},
	} {
		r := rand.New(rand.NewPCG(uint64(c.d), uint64(c.rowOver)))
		const vocab = 120
		g := newGrowing(c.d, vocab)
		g.rowOver = c.rowOver
		type kept struct {
			s   *Sums
			all []passage
		}
		var keep []kept
		var base, compact *Sums
		var late *Factor
		exact := 0
		for step := range 150 {
			switch k := r.IntN(9); {
			case k == 0 && len(g.all) > 20: // an upsert of several
				e := g.Edit()
				for range 5 {
					p := []passage{randomPassage(r, c.d, vocab)}
					if err := e.AddAll(g.take(p)); err != nil {
						t.Fatal(err)
					}
					i := r.IntN(len(g.all))
					old := g.all[i]
					if err := e.Remove(old.id, old.x, old.tokens); err != nil {
						t.Fatal(err)
					}
					g.all = append(slices.Delete(slices.Clone(g.all), i, i+1), p...)
				}
				g.done(e)
			case k < 4 && len(g.all) > 0:
				g.remove(r.IntN(len(g.all)))
			case k == 4 && step > 20:
				var err error
				if base, compact = g.Sums, nil; r.IntN(2) == 0 {
					compact, err = base.Compacted(t.Context())
				} else {
					late, err = base.Factor(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				continue
			case k == 5 && compact != nil:
				s, err := g.Rebase(base, compact)
				if err != nil {
					t.Fatal(err)
				}
				g.Sums, base, compact = s, nil, nil
			case k == 6 && late != nil:
				s, err := g.WithFactor(late)
				if err != nil {
					t.Fatal(err)
				}
				g.Sums, late = s, nil
			default:
				var ps []passage
				for range 1 + r.IntN(3) {
					ps = append(ps, randomPassage(r, c.d, vocab))
				}
				g.add(ps...)
			}
			if r.IntN(3) == 0 {
				keep = append(keep, kept{g.Sums, g.all})
			}
		}
		if s, err := g.Compacted(t.Context()); err != nil || s.Verify(t.Context()) != nil {
			t.Fatal(err, s.Verify(t.Context()))
		} else {
			keep = append(keep, kept{s, g.all})
		}
		most := 0.0
		for _, k := range keep {
			if n := k.s.Len(); n != len(k.all) {
				t.Fatalf("%d passages, want %d", n, len(k.all))
			}
			if changes, _ := k.s.Staleness(); changes == 0 {
				exact++
			} else {
				continue
			}
			f := fresh(t, c.d, vocab, k.all)
			for id := range int32(vocab) {
				if k.s.DF(id) != f.DF(id) {
					t.Fatalf("df of %d is %d, want %d", id, k.s.DF(id), f.DF(id))
				}
			}
			if err := k.s.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
			qs := someQuestions(r, c.d, vocab, 20)
			most = max(most, worst(answers(t, k.s, qs), answers(t, f, qs)))
		}
		t.Logf("d %d, rows over %d passages: %d of %d exact, %.2g off fresh ones", c.d, c.rowOver, exact, len(keep), most)
		if most > c.tolerance || exact < len(keep)-1 {
			t.Errorf("d %d, rows over %d: %g off fresh ones, %d of %d exact", c.d, c.rowOver, most, exact, len(keep))
		}
	}
}

func TestAddAllEqualsAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const d, vocab = 24, 90
	for _, n := range []int{0, 1, 7, 100, 5000} {
		one, bulk := newGrowing(d, vocab), newGrowing(d, vocab)
		e, all := one.Edit(), []passage{}
		for range n {
			all = append(all, randomPassage(r, d, vocab))
		}
		ids, xs, tokens := one.take(all)
		for i, id := range ids {
			if err := e.Add(id, xs[i], tokens[i]); err != nil {
				t.Fatal(err)
			}
			all[i].tokens = append(all[i].tokens, all[i].tokens...) // repetition counts once
		}
		one.done(e)
		for i, j := 0, n-1; i < j; i, j = i+1, j-1 { // in any order
			ids[i], ids[j], xs[i], xs[j], tokens[i], tokens[j] = ids[j], ids[i], xs[j], xs[i], tokens[j], tokens[i]
		}
		bulk.x = one.x
		e = bulk.Edit()
		if err := e.AddAll(ids, xs, tokens); err != nil {
			t.Fatal(err)
		}
		bulk.done(e)
		qs := someQuestions(r, d, vocab, 20)
		if diff := worst(answers(t, one.Sums, qs), answers(t, bulk.Sums, qs)); diff > 1e-6 {
			t.Fatalf("%d passages: AddAll differs from Add by %g", n, diff)
		}
	}
}

func TestSumsRejectBadPassages(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	const d, vocab = 8, 20
	g := newGrowing(d, vocab)
	for range 3 {
		g.add(randomPassage(r, d, vocab))
	}
	x, last := unit(r, d), g.all[2]
	bad := slices.Clone(x)
	bad[3] = float32(math.NaN())
	absent := int32(-1)
	for id := range int32(vocab) {
		if g.DF(id) == 0 {
			absent = id
		}
	}
	for name, f := range map[string]func(e *Edit) error{
		"short vector":   func(e *Edit) error { return e.Add(9, x[:7], nil) },
		"NaN":            func(e *Edit) error { return e.Add(9, bad, nil) },
		"token too big":  func(e *Edit) error { return e.Add(9, x, []int32{vocab}) },
		"negative token": func(e *Edit) error { return e.Add(9, x, []int32{-1}) },
		"an old id":      func(e *Edit) error { return e.Add(1, x, nil) },
		"an id twice":    func(e *Edit) error { return e.AddAll([]uint64{9, 9}, [][]float32{x, x}, [][]int32{nil, nil}) },
		"token absent":   func(e *Edit) error { return e.Remove(last.id, last.x, []int32{absent}) },
		"not there":      func(e *Edit) error { return e.Remove(9, x, nil) },
		"removed twice": func(e *Edit) error {
			return errors.Join(e.Remove(last.id, last.x, last.tokens), e.Remove(last.id, last.x, last.tokens))
		},
		"bulk shape":    func(e *Edit) error { return e.AddAll([]uint64{9}, [][]float32{x}, nil) },
		"removal shape": func(e *Edit) error { return e.RemoveAll([]uint64{9}, [][]float32{x}, nil) },
	} {
		e := g.Edit()
		err := f(e)
		if !errors.Is(err, ErrPassage) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := e.Done(); !errors.Is(err, ErrPassage) {
			t.Errorf("%s: Done answers %v", name, err)
		}
	}
	if _, err := NewSums(0, 5, 0, nil); !errors.Is(err, ErrOptions) {
		t.Errorf("no dimension: %v", err)
	}
	if _, err := NewSums(5, 5, -1, nil); !errors.Is(err, ErrOptions) {
		t.Errorf("a negative ridge: %v", err)
	}
	g.remove(0, 0, 0)
	if g.Len() != 0 {
		t.Errorf("%d passages are left", g.Len())
	}
}

// Readers of any Sums run beside the writer that makes the next ones.
func TestSumsReadersBesideAWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const d, vocab = 16, 40
	g := newGrowing(d, vocab)
	g.rowOver = 20
	var now atomic.Pointer[Sums]
	now.Store(g.Sums)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		rng := rand.New(rand.NewPCG(uint64(w), 1))
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := now.Load()
				q := question{randomIDs(rng, vocab, 4), unit(rng, d)}
				l, u, err := answer(t.Context(), s, q)
				if err != nil {
					t.Error(err)
					return
				}
				l2, u2, err := answer(t.Context(), s, q)
				if err != nil || l[0]-l[0] != 0 || u[0]-u[0] != 0 || !same(l, l2) || !same(u, u2) {
					t.Error("one question has two answers, or none", err)
					return
				}
			}
		})
	}
	for step := range 300 {
		switch {
		case step%3 == 2:
			g.remove(r.IntN(len(g.all)))
		case step%50 == 49:
			g.settle(t)
			s, err := g.Compacted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if g.Sums, err = g.Rebase(g.Sums, s); err != nil {
				t.Fatal(err)
			}
		default:
			g.add(randomPassage(r, d, vocab))
		}
		now.Store(g.Sums)
	}
	close(stop)
	wg.Wait()
	qs := someQuestions(r, d, vocab, 10)
	if diff := worst(answers(t, g.Sums, qs), answers(t, fresh(t, d, vocab, g.all), qs)); diff > 1e-5 {
		t.Fatalf("%g off fresh sums", diff)
	}
}

// A bulk edit of a large dimension leaves the sums stale, and says so, until a
// factor is put under them; few changes since it become steps.
func TestStaleness(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	const d, vocab = 340, 60
	g := newGrowing(d, vocab)
	qs := someQuestions(r, d, vocab, 10)
	many := func(n int) (ps []passage) {
		for range n {
			ps = append(ps, randomPassage(r, d, vocab))
		}
		return ps
	}
	stale := func(want int) {
		t.Helper()
		if changes, n := g.Staleness(); changes != want || n != len(g.all) {
			t.Fatalf("stale by %d of %d, want %d of %d", changes, n, want, len(g.all))
		}
	}
	law := func() {
		t.Helper()
		if diff := worst(answers(t, g.Sums, qs), answers(t, fresh(t, d, vocab, g.all), qs)); diff > 1e-5 {
			t.Fatalf("%g off fresh sums", diff)
		}
	}
	g.add(many(200)...) // few enough for steps alone
	stale(0)
	law()
	g.add(many(400)...)
	stale(600)
	for _, x := range answers(t, g.Sums, qs) {
		if !same(x, make([]float32, d)) {
			t.Fatal("an answer without any factor")
		}
	}
	old := g.Sums
	f, err := old.Factor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.add(many(10)...) // meanwhile
	g.remove(3, 4, 5)
	stale(613)
	if g.Sums, err = g.WithFactor(f); err != nil {
		t.Fatal(err)
	}
	stale(0)
	law()
	for range 4 {
		g.add(many(10)...)
		g.remove(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	stale(93)
	last := g.Sums
	g.settle(t)
	stale(0)
	law()
	g.add(many(40)...)
	g.remove(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	stale(0)
	law()
	g.add(many(300)...)
	stale(350)
	if !g.Ready() || worst(answers(t, g.Sums, qs), answers(t, fresh(t, d, vocab, g.all), qs)) < 1e-5 {
		t.Fatal("stale sums answer like fresh ones")
	}
	if g.Sums, err = g.WithFactor(f); err != nil { // too old for the log
		t.Fatal(err)
	}
	stale(13 + 80 + 350)
	if _, err := newGrowing(d, vocab).WithFactor(f); !errors.Is(err, ErrOptions) {
		t.Errorf("a factor of another corpus: %v", err)
	}
	if _, err := old.WithFactor(last.factor); err != nil {
		t.Errorf("a factor of the same sums: %v", err)
	}
	if n, _ := old.Staleness(); n != 600 {
		t.Errorf("older sums are stale by %d now", n)
	}
}

// The inverse from few passages' steps is that of the matrix.
func TestDualIsPrimal(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	const d, vocab = 120, 50
	for _, n := range []int{1, 2, 29, 30} {
		var all []passage
		for range n {
			all = append(all, randomPassage(r, d, vocab))
		}
		s := fresh(t, d, vocab, all)
		if s.factor.packed != nil {
			t.Fatalf("%d passages of %d dimensions have a matrix", n, d)
		}
		a := make([]float64, d*d)
		if err := s.scatter(t.Context(), a, d); err != nil {
			t.Fatal(err)
		}
		m := mat.NewSymDense(d, a)
		for i := range d {
			m.SetSym(i, i, m.At(i, i)+1)
		}
		var inv mat.Dense
		if err := inv.Inverse(m); err != nil {
			t.Fatal(err)
		}
		got, err := s.inverse.matrix(d)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range got {
			if diff := math.Abs(float64(x) - inv.At(i/d, i%d)); diff > 1e-6 {
				t.Fatalf("%d passages: number %d is off by %g", n, i, diff)
			}
		}
	}
}

func TestInvert(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for _, d := range []int{1, 2, 7, 8, 9, 127, 128, 129, 300} {
		ld := (d + 7) &^ 7
		x := mat.NewDense(d, d+3, nil)
		for i := range d {
			for j := range d + 3 {
				x.Set(i, j, r.NormFloat64())
			}
		}
		var want mat.Dense
		want.Mul(x, x.T())
		a := make([]float64, ld*ld)
		for i := range d {
			want.Set(i, i, want.At(i, i)+1)
			for j := i; j < d; j++ {
				a[i*ld+j] = want.At(i, j)
			}
		}
		spoilt := slices.Clone(a)
		if err := Invert(t.Context(), a, d, ld); err != nil {
			t.Fatal(err)
		}
		if err := want.Inverse(&want); err != nil {
			t.Fatal(err)
		}
		for i := range d {
			for j := i; j < d; j++ {
				if diff := math.Abs(a[i*ld+j] - want.At(i, j)); !(diff < 1e-9) {
					t.Fatalf("d %d: %d, %d is off by %g", d, i, j, diff)
				}
			}
		}
		spoilt[(d-1)*ld+d-1] = -1
		if err := Invert(t.Context(), spoilt, d, ld); err != ErrIndefinite {
			t.Fatalf("d %d: an indefinite matrix gives %v", d, err)
		}
	}
}

func TestContextsEndSums(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	const d, vocab = 64, 40
	g := randomCorpus(r, d, vocab, 100)
	s := g.Sums
	ctx, cancel := context.WithCancel(t.Context())
	q := someQuestions(r, d, vocab, 1)[0]
	if l, _, err := answer(ctx, s, q); err != nil || same(l, make([]float32, d)) {
		t.Fatalf("no answer with a live context: %v", err)
	}
	cancel()
	if _, _, err := answer(ctx, s, q); !errors.Is(err, context.Canceled) || s.Err() != nil {
		t.Errorf("an answer after its end, or the end is damage: %v", err)
	}
	if _, err := s.Factor(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Factor: %v", err)
	}
	if _, err := s.WithRidge(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("WithRidge: %v", err)
	}
	if _, _, err := s.Regress(ctx, q.ids); !errors.Is(err, context.Canceled) {
		t.Errorf("Regress: %v", err)
	}
	if _, err := s.Compacted(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Compacted: %v", err)
	}
	if err := s.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify: %v", err)
	}
	if _, err := SumsOf(ctx, d, vocab, 1, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("SumsOf: %v", err)
	}
}

// What Compacted drops, promotes, demotes and sums again.
func TestCompacted(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	const d, vocab = 8, 10
	g := newGrowing(d, vocab)
	g.rowOver = 40
	for range 50 {
		g.add(passage{x: unit(r, d), tokens: []int32{2}})
	}
	for range 30 {
		g.add(passage{x: unit(r, d), tokens: []int32{3}})
	}
	rows := func(s *Sums) (out []int32) {
		for t, p := range s.tokens.All {
			if p.row != nil {
				out = append(out, int32(t))
			}
		}
		return out
	}
	if got := rows(g.Sums); !slices.Equal(got, []int32{2}) {
		t.Fatalf("rows %v", got)
	}
	if g.Wasteful() {
		t.Fatal("a new corpus is wasteful")
	}
	for range 45 {
		g.remove(0)
	}
	if got := rows(g.Sums); !slices.Equal(got, []int32{2}) {
		t.Fatalf("rows %v after removals", got)
	}
	wide := *g.Sums
	wide.rowOver = 5 // as many as have token 2 still
	c, err := wide.Compacted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := rows(c); !slices.Equal(got, []int32{3}) || c.slots() != 35 || c.dead.Len() != 0 || c.Bytes().Postings >= g.Bytes().Postings {
		t.Fatalf("rows %v, %d slots", got, c.slots())
	}
	if _, err := c.Rebase(g.Sums, c); !errors.Is(err, ErrOptions) {
		t.Errorf("a base of another form: %v", err)
	}
	p := g.tokens.At(2)
	e := g.tokens.Edit()
	e.Set(2, posted{df: p.df, next: p.next, tail: p.tail, row: &row{sum: make([]float32, d), rounds: maxRounds + 1}})
	worn := *g.Sums
	worn.tokens = e.Done()
	worn.rowOver = 5
	if !worn.Wasteful() || worn.Verify(t.Context()) == nil {
		t.Fatal("a worn and wrong row passes")
	}
	worn.rowOver = 4
	worn.history = &history{}
	c, err = worn.Compacted(t.Context())
	if err != nil || c.Verify(t.Context()) != nil {
		t.Fatal(err, c.Verify(t.Context()))
	}
}

// A worn row is exact after a compaction, whatever changed it meanwhile.
func TestWornRowIsSummedAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for name, change := range map[string]func(g *growing){
		"nothing": func(*growing) {},
		"more":    func(g *growing) { g.add(passage{x: unit(r, 8), tokens: []int32{2}}) },
		"less":    func(g *growing) { g.remove(0) },
		"all anew": func(g *growing) {
			for len(g.all) > 0 {
				g.remove(0)
			}
			g.add(passage{x: unit(r, 8), tokens: []int32{2}})
		},
	} {
		g := newGrowing(8, 10)
		g.rowOver = 0
		for range 50 {
			g.add(passage{x: unit(r, 8), tokens: []int32{2}})
		}
		e := g.tokens.Edit()
		p := e.Ptr(2)
		p.row = &row{sum: slices.Clone(p.row.sum), rounds: maxRounds + 1}
		p.row.sum[3] += 0.01
		g.tokens = e.Done()
		base := g.Sums
		fresh, err := base.Compacted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		change(g)
		after, err := g.Rebase(base, fresh)
		if err != nil {
			t.Fatal(err)
		}
		if after.Wasteful() {
			t.Errorf("%s: another compaction is due", name)
		}
		if err := after.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Verify finds each kind of mistake.
func TestVerifySums(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	const d, vocab = 16, 30
	g := newGrowing(d, vocab)
	g.rowOver = 0
	for range 40 {
		g.add(randomPassage(r, d, vocab))
	}
	if err := g.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(s *Sums){
		"count":   func(s *Sums) { s.n++ },
		"total":   func(s *Sums) { s.total = slices.Clone(s.total); s.total[2] += 0.01 },
		"inverse": func(s *Sums) { s.inverse.packed = slices.Clone(s.inverse.packed); s.inverse.packed[0] *= 1.5 },
		"df": func(s *Sums) {
			e := s.tokens.Edit()
			e.Ptr(int(g.all[0].tokens[0])).df++
			s.tokens = e.Done()
		},
		"row": func(s *Sums) {
			e := s.tokens.Edit()
			p := e.Ptr(int(g.all[0].tokens[0]))
			p.row = &row{sum: slices.Clone(p.row.sum), rounds: p.row.rounds}
			p.row.sum[3] += 0.01
			s.tokens = e.Done()
		},
		"vector": func(s *Sums) { s.vectors = func(uint64, *[]float32) []float32 { return nil } },
	} {
		s := *g.Sums
		s.history = &history{}
		spoil(&s)
		if err := s.Verify(t.Context()); !errors.Is(err, ErrCorrupt) || !errors.Is(s.Err(), ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
