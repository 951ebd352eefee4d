package local

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// In each cell the shift is β·l/Σ idf of an RLR over the passages of that cell,
// its idf held below that of the corpus, up to the rounding of the codes: here
// by the formula, in float64.
func TestCellsAreRegressions(t *testing.T) {
	c := newSet(1, 400)
	r := rand.New(rand.NewPCG(2, 2))
	for _, o := range []Options{{}, {TableFrom: 1}, {TableFrom: 1 << 20, Lambda: 1}, {Beta: 0.5, Lambda: 30}} {
		o.Cells = 14
		b := c.build(t, o)
		o = b.Options()
		df := map[int32]int{}
		for _, list := range c.tokens {
			for _, token := range list {
				df[token]++
			}
		}
		small, large := 0, 0
		for cell := range b.Cells() {
			ids, err := b.Members(nil, cell)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) < testDim {
				small++
			} else {
				large++
			}
			n := float64(len(ids))
			mean := make([]float64, testDim)
			for _, id := range ids {
				for i, x := range c.vectors[id] {
					mean[i] += float64(x) / n
				}
			}
			a := mat.NewSymDense(testDim, nil)
			here := map[int32]int{}
			sums := map[int32][]float64{}
			for _, id := range ids {
				x := make([]float64, testDim)
				for i, v := range c.vectors[id] {
					x[i] = float64(v) - mean[i]
				}
				a.SymRankOne(a, 1, mat.NewVecDense(testDim, x))
				for _, token := range c.tokens[id] {
					here[token]++
					if sums[token] == nil {
						sums[token] = make([]float64, testDim)
					}
					for i, v := range x {
						sums[token][i] += v
					}
				}
			}
			for i := range testDim {
				a.SetSym(i, i, a.At(i, i)+o.Lambda)
			}
			for range 30 {
				in := modulate.Input{Tokens: randomTokens(r, 1+r.IntN(9)), Dense: unit(r, testDim)}
				if r.IntN(3) == 0 { // words that no passage has
					in.Tokens = tokens(append(in.Tokens.IDs, -1, testVocab+3)...)
				}
				g, all := mat.NewVecDense(testDim, nil), 0.0
				for _, token := range in.Tokens.Lexical(nil) {
					all += ridge.IDF(b.Len(), df[token])
					if here[token] > 0 {
						w := min(ridge.IDF(len(ids), here[token]), ridge.IDF(b.Len(), df[token]))
						g.AddScaledVec(g, w, mat.NewVecDense(testDim, sums[token]))
					}
				}
				var shift mat.VecDense
				if err := shift.SolveVec(a, g); err != nil {
					t.Fatal(err)
				}
				shift.ScaleVec(b.beta()/all, &shift)
				got := modulated(t, b, in, []int{cell})
				var miss float64
				for i := range testDim {
					miss += math.Pow(float64(got[i]-in.Dense[i])-shift.AtVec(i), 2)
				}
				if math.Sqrt(miss) > 0.02*mat.Norm(&shift, 2)+1e-4*b.beta() {
					t.Fatalf("%+v: cell %d of %d passages is off by %g of %g", o, cell, len(ids), math.Sqrt(miss), mat.Norm(&shift, 2))
				}
			}
		}
		if small == 0 || large == 0 {
			t.Fatalf("only one form was tested: %d cells below d, %d above", small, large)
		}
	}
}

// After any edits a version answers like a fresh fit over the same partition, bit
// for bit, and the versions before answer as they did.
func TestEditsEqualFreshFits(t *testing.T) {
	c := newSet(3, 300)
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := c.build(t, Options{Cells: 6, Workers: workers(int(1 + seed))})
		present := map[uint64]bool{}
		for id := range uint64(300) {
			present[id] = true
		}
		type past struct {
			b *Bridges
			a answers
		}
		var old []past
		for step := range 40 {
			old = append(old, past{b, ask(t, b, seed)})
			e := b.Edit()
			for range []int{1, 3, 60}[r.IntN(3)] {
				id := r.Uint64N(300)
				if e.Remove(id) != present[id] {
					t.Fatalf("Remove is wrong about passage %d", id)
				}
				if present[id] = !present[id]; present[id] {
					if err := e.Add(id, c.vectors[id], c.tokens[id]); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.Add(id, c.vectors[id], nil); present[id] && !errors.Is(err, modulate.ErrPassage) {
					t.Fatalf("twice: %v", err)
				} else if !present[id] && (err != nil || !e.Remove(id)) {
					t.Fatalf("in and out again: %v", err)
				}
			}
			b = done(t, e)
			ids := []uint64{}
			for id, ok := range present {
				if ok {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			want := c.fresh(t, b, ids)
			if b.Len() != len(ids) || !reflect.DeepEqual(ask(t, b, 1), ask(t, want, 1)) {
				t.Fatalf("seed %d, step %d: differs from a fresh fit", seed, step)
			}
			for i := range b.cells {
				x, y := b.cells[i], want.cells[i]
				if !reflect.DeepEqual(x.loaded.Load(), y.loaded.Load()) || x.n != y.n || x.rows != y.rows || x.tokens != y.tokens || x.slots != y.slots {
					t.Fatalf("seed %d, step %d: cell %d differs", seed, step, i)
				}
			}
		}
		for i, p := range old {
			if !reflect.DeepEqual(ask(t, p.b, seed), p.a) {
				t.Fatalf("seed %d: version %d has changed", seed, i)
			}
		}
	}
}

// An edit fits the cells it touches and shares the others, and so does its
// directory.
func TestEditsShare(t *testing.T) {
	c := newSet(4, 300)
	b := c.build(t, Options{Cells: 6})
	e := b.Edit()
	if !e.Remove(17) || e.Remove(17) {
		t.Fatal("Remove is wrong")
	}
	next := done(t, e)
	at, _ := b.Cell(17)
	for i := range b.cells {
		if (b.cells[i] == next.cells[i]) != (i != at) {
			t.Errorf("cell %d; passage 17 was in %d", i, at)
		}
	}
	if !b.Has(17) || next.Has(17) || b.Len() != 300 || next.Len() != 299 {
		t.Error("the passage is where it should not be")
	}
	if again := done(t, next.Edit()); !reflect.DeepEqual(again.cells, next.cells) || again.Len() != 299 {
		t.Error("an edit of nothing changed something")
	}
}

func TestLaws(t *testing.T) {
	c := newSet(4, 300)
	b := c.build(t, Options{Cells: 5})
	r := rand.New(rand.NewPCG(6, 6))
	for range 100 {
		q := unit(r, testDim)
		before := slices.Clone(q)
		// without usable tokens every cell has q, bit for bit
		for _, in := range []modulate.Input{{Dense: q}, {Dense: q, Tokens: tokens()}, {Dense: q, Tokens: tokens(-3, testVocab, math.MaxInt32)}} {
			for cell, got := range slices.Collect(slices.Chunk(modulated(t, b, in, every(b)), testDim)) {
				if !same(got, q) {
					t.Fatalf("cell %d moved a query without tokens", cell)
				}
			}
		}
		tok := randomTokens(r, 1+r.IntN(90))
		want := modulated(t, b, modulate.Input{Tokens: tok, Dense: q}, every(b))
		if !vec.Finite(want) || !same(q, before) {
			t.Fatal("not finite, or the query was changed")
		}
		// order and repetition of tokens are of no account
		ids := tok.Lexical(nil)
		ids = append(ids, ids[:r.IntN(len(ids)+1)]...)
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for i, x := range modulated(t, b, modulate.Input{Tokens: tokens(ids...), Dense: q}, every(b)) {
			if math.Abs(float64(x-want[i])) > 1e-5 {
				t.Fatalf("order or repetition moved the query from %g to %g", want[i], x)
			}
		}
		// the tokens' shares add up to the shift
		p := unit(r, testDim)
		for cell := range 5 {
			shares, err := b.Shares(nil, modulate.Input{Tokens: tok, Dense: q}, cell, p)
			if err != nil || len(shares) != len(tok.Lexical(nil)) {
				t.Fatal(len(shares), err)
			}
			sum := float64(vec.Dot(q, p))
			for _, s := range shares {
				sum += s
			}
			if got := float64(vec.Dot(want[cell*testDim:(cell+1)*testDim], p)); math.Abs(got-sum) > 1e-5 {
				t.Fatalf("shares add up to %v, the score is %v", sum, got)
			}
		}
		// a cell's vector does not depend on which others are asked for
		for i, cell := range r.Perm(5)[:3] {
			got := modulated(t, b, modulate.Input{Tokens: tok, Dense: q}, []int{cell})
			if !same(got, want[cell*testDim:(cell+1)*testDim]) {
				t.Fatalf("%d: cell %d has another vector alone", i, cell)
			}
		}
	}
}

// A token of every passage of a cell tells nothing there, and has no row.
func TestTokenOfAll(t *testing.T) {
	c := newSet(8, 100)
	for i := range c.tokens {
		c.tokens[i] = append(slices.DeleteFunc(c.tokens[i], func(t int32) bool { return t == 30 }), 30)
	}
	b := c.build(t, Options{Cells: 3})
	q := unit(rand.New(rand.NewPCG(1, 9)), testDim)
	for cell := range b.Cells() {
		if got := modulated(t, b, modulate.Input{Tokens: tokens(30), Dense: q}, []int{cell}); !same(got, q) {
			t.Errorf("cell %d moved the query", cell)
		}
		x, err := b.cell(cell)
		if err != nil {
			t.Fatal(err)
		}
		if i, ok := x.find(30); !ok || i < len(x.rowScale) {
			t.Errorf("cell %d: token at %d, %v, of %d rows", cell, i, ok, len(x.rowScale))
		}
	}
}

// A token that one cell alone has leads there, and cells without any of the
// query's tokens come by their centroids.
func TestProbe(t *testing.T) {
	c := newSet(8, 200)
	for i := range c.tokens {
		c.tokens[i] = slices.DeleteFunc(c.tokens[i], func(t int32) bool { return t < 10 })
	}
	c.tokens[7] = append(c.tokens[7], 3)
	b := c.build(t, Options{Cells: 5})
	at, _ := b.Cell(7)
	r := rand.New(rand.NewPCG(1, 9))
	for range 50 {
		q := unit(r, testDim)
		dots := make([]float32, 5)
		b.partition.dots(dots, q)
		got, err := b.Probe(nil, modulate.Input{Tokens: tokens(3), Dense: q}, 1)
		// a centroid can be nearer by more than 1 only if it is opposite
		if err != nil || len(got) != 1 || got[0] != at && slices.Max(dots)-dots[at] < 1 {
			t.Fatalf("probes %v, want cell %d; %v", got, at, err)
		}
		got, err = b.Probe(got[:0], modulate.Input{Tokens: tokens(4), Dense: q}, 99)
		if err != nil || len(got) != 5 || got[0] != largest(dots) {
			t.Fatalf("probes %v, want cell %d first; %v", got, largest(dots), err)
		}
		slices.Sort(got)
		if !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("all cells are %v", got)
		}
	}
}

// The default β rises from 10,000 to 20,000 passages, without a step.
func TestBeta(t *testing.T) {
	last := 0.0
	for _, c := range []struct {
		n    int
		want float64
	}{{0, 0.8}, {1, 0.8}, {10000, 0.8}, {10001, 0.8}, {14142, 0.9}, {20000, 1}, {20001, 1}, {1 << 30, 1}} {
		got := defaultBeta(c.n)
		if math.Abs(got-c.want) > 1e-4 || got < last {
			t.Errorf("%d passages: %v, want %v", c.n, got, c.want)
		}
		last = got
	}
	c := newSet(9, 60)
	if b := c.build(t, Options{}); b.beta() != 0.8 {
		t.Errorf("%v for 60 passages", b.beta())
	}
	if b := c.build(t, Options{Beta: 2}); b.beta() != 2 {
		t.Errorf("%v, asked for 2", b.beta())
	}
}

func TestRefuses(t *testing.T) {
	c := newSet(5, 50)
	for _, o := range []Options{{Beta: -1}, {Beta: math.NaN()}, {Beta: 11}, {Lambda: -1}, {Lambda: 1e10}, {TableFrom: -1}, {Cells: -1}, {Cells: 51}} {
		if _, err := Build(ctx, testDim, testVocab, c.source(), o); !errors.Is(err, modulate.ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, bad := range [][2]int{{0, 5}, {vec.MaxInt8Dim + 1, 5}, {5, -1}} {
		if _, err := New(bad[0], bad[1], c.vector, Options{}); !errors.Is(err, modulate.ErrOptions) {
			t.Error(bad, err)
		}
	}
	if _, err := New(5, 5, nil, Options{}); !errors.Is(err, modulate.ErrOptions) {
		t.Error(err)
	}
	b := c.build(t, Options{Cells: 3})
	e := b.Edit()
	for name, err := range map[string]error{
		"token":     e.Add(99, c.vectors[1], []int32{testVocab}),
		"minus":     e.Add(99, c.vectors[1], []int32{-1}),
		"twice":     e.Add(1, c.vectors[1], nil),
		"dimension": e.Add(99, c.vectors[1][:3], nil),
		"finite":    e.Add(99, append([]float32{float32(math.NaN())}, c.vectors[1][1:]...), nil),
	} {
		if !errors.Is(err, modulate.ErrPassage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e.Remove(99) || len(e.added) != 0 {
		t.Error("a refused passage was taken in")
	}
	q := unit(rand.New(rand.NewPCG(1, 1)), testDim)
	for name, f := range map[string]func() error{
		"dimension": func() error { _, err := b.Modulate(ctx, nil, modulate.Input{Dense: q[:3]}, nil); return err },
		"probe":     func() error { _, err := b.Probe(nil, modulate.Input{Dense: q[:3]}, 1); return err },
		"shares":    func() error { _, err := b.Shares(nil, modulate.Input{Dense: q}, 3, q); return err },
		"passage":   func() error { _, err := b.Shares(nil, modulate.Input{Dense: q}, 2, q[:1]); return err },
		"cell":      func() error { _, err := b.Modulate(ctx, nil, modulate.Input{Dense: q}, []int{3}); return err },
		"below":     func() error { _, err := b.Modulate(ctx, nil, modulate.Input{Dense: q}, []int{-1}); return err },
	} {
		if err := f(); !errors.Is(err, modulate.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := c.source(1, 2, 1)
	if _, err := Build(ctx, testDim, testVocab, twice, Options{}); !errors.Is(err, modulate.ErrPassage) {
		t.Error(err)
	}
	broken := errors.New("broken")
	src := c.source()
	src.Tokens = func(id uint64) ([]int32, error) { return nil, broken }
	if _, err := Build(ctx, testDim, testVocab, src, Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	src.Tokens = func(id uint64) ([]int32, error) { return []int32{testVocab}, nil }
	if _, err := Build(ctx, testDim, testVocab, src, Options{}); !errors.Is(err, modulate.ErrPassage) {
		t.Error(err)
	}
}

// A passage whose vector is not right fails the edit, which may be tried again.
func TestBadVectors(t *testing.T) {
	c := newSet(5, 50)
	b := c.build(t, Options{Cells: 3})
	kept := c.vectors[2]
	for _, bad := range [][]float32{nil, kept[:4], make([]float32, testDim), slices.Repeat([]float32{float32(math.NaN())}, testDim)} {
		e := b.Edit()
		e.Remove(2)
		if err := e.Add(2, kept, c.tokens[2]); err != nil {
			t.Fatal(err)
		}
		c.vectors[2] = bad
		if _, err := e.Done(ctx); !errors.Is(err, modulate.ErrPassage) {
			t.Errorf("vector %v: %v", bad, err)
		}
		if _, err := Build(ctx, testDim, testVocab, c.source(), Options{Cells: 3}); !errors.Is(err, modulate.ErrPassage) {
			t.Errorf("vector %v: %v", bad, err)
		}
		c.vectors[2] = kept
		if next := done(t, e); !reflect.DeepEqual(ask(t, next, 2), ask(t, b, 2)) {
			t.Error("the same passage again gave other answers")
		}
	}
}

// Build and Done end when their context does, between two cells.
func TestCancel(t *testing.T) {
	c := newSet(6, 300)
	b := c.build(t, Options{Cells: 6})
	for stop := range 12 {
		cancelled, cancel := context.WithCancel(ctx)
		looks := 0
		src := c.source()
		src.Vectors = func(id uint64) []float32 {
			if looks++; looks == 1+stop*60 {
				cancel()
			}
			return c.vectors[id]
		}
		if _, err := Build(cancelled, testDim, testVocab, src, Options{Cells: 6}); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d vectors: %v", stop*60, err)
		}
		cancel()
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	e := b.Edit()
	e.Remove(5)
	if _, err := e.Done(cancelled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if next := done(t, e); next.Has(5) || next.Len() != 299 {
		t.Error("the edit was lost")
	}
	if _, err := b.Repartition(cancelled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in := modulate.Input{Dense: c.vectors[0]}
	if _, err := b.Modulate(cancelled, nil, in, every(b)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := b.Search(cancelled, nil, []Probe{{0, in.Dense}}, 1, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Readers of any version go on beside an editor and see what they saw.
func TestReadersBesideAnEditor(t *testing.T) {
	c := newSet(6, 200)
	b := c.build(t, Options{Cells: 4, Workers: workers(2)})
	want := ask(t, b, 9)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !reflect.DeepEqual(ask(t, b, 9), want) {
					t.Error("a version changed")
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	next := b
	for range 30 {
		e := next.Edit()
		for _, id := range next.places.all().ids {
			if r.IntN(40) == 0 {
				e.Remove(id)
			}
		}
		next = done(t, e)
	}
	close(stop)
	wg.Wait()
}

// Repartition keeps the passages and gives what Build gives.
func TestRepartition(t *testing.T) {
	c := newSet(15, 700)
	old, err := New(testDim, testVocab, c.vector, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if empty, err := old.Repartition(ctx); err != nil || empty.Len() != 0 || empty.Cells() != 1 || old.Outgrown() {
		t.Fatalf("an empty corpus: %v", err)
	}
	e := old.Edit()
	for id := range uint64(700) {
		if err := e.Add(id, c.vectors[id], c.tokens[id]); err != nil {
			t.Fatal(err)
		}
	}
	old = done(t, e)
	if !old.Outgrown() || old.Cells() != 1 {
		t.Fatalf("%d passages in %d cells are not too many", old.Len(), old.Cells())
	}
	e = old.Edit()
	e.Remove(3)
	old = done(t, e)
	b, err := old.Repartition(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if b.Len() != 699 || old.Len() != 699 || b.Cells() != CellsFor(699) || b.Outgrown() {
		t.Fatalf("%d passages in %d cells", b.Len(), b.Cells())
	}
	ids := slices.DeleteFunc(c.source().IDs, func(id uint64) bool { return id == 3 })
	want, err := Build(ctx, testDim, testVocab, c.source(ids...), Options{Seed: 1, Workers: workers(3)})
	if err != nil || !reflect.DeepEqual(ask(t, b, 4), ask(t, want, 4)) {
		t.Fatalf("other answers than a build: %v", err)
	}
	e = b.Edit()
	for id := range uint64(500) {
		e.Remove(id)
	}
	if b = done(t, e); !b.Outgrown() {
		t.Fatalf("%d passages in %d cells are not too few", b.Len(), b.Cells())
	}
	if own := c.build(t, Options{Cells: 60}); own.Outgrown() || own.Cells() != 60 {
		t.Error("a wanted number of cells was outgrown")
	}
}

func TestPlacesFollowAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	var p places
	model := map[uint64]uint32{}
	for range 300 {
		changes := map[uint64]uint32{}
		for range 1 + r.IntN(30) {
			changes[r.Uint64N(500)<<(44*r.IntN(2))] = r.Uint32N(9)
		}
		var c run
		for _, id := range slices.Sorted(maps.Keys(changes)) {
			if _, ok := model[id]; ok && r.IntN(2) == 0 {
				changes[id] = gone
				delete(model, id)
			} else {
				model[id] = changes[id]
			}
			c.ids, c.cells = append(c.ids, id), append(c.cells, changes[id])
		}
		p = p.with(c)
		for i := range p.runs[1:] {
			if len(p.runs[i].ids) <= 2*len(p.runs[i+1].ids) {
				t.Fatal("runs do not shrink")
			}
		}
		all := p.all()
		if len(all.ids) != len(model) || !slices.IsSorted(all.ids) {
			t.Fatalf("%d passages, want %d", len(all.ids), len(model))
		}
		for x := range uint64(500) {
			for _, id := range []uint64{x, x << 44} {
				got, ok := p.find(id)
				if want, in := model[id]; ok != in || ok && got != want {
					t.Fatalf("passage %d is in %d, %v; want %d, %v", id, got, ok, want, in)
				}
			}
		}
	}
}

// Bytes says what the arrays take.
func TestBytes(t *testing.T) {
	b := newSet(7, 300).build(t, Options{Cells: 5})
	var want Memory
	for i := range b.cells {
		c, err := b.cell(i)
		if err != nil {
			t.Fatal(err)
		}
		want.Codes += int64(cap(c.codes) + 4*cap(c.scale))
		want.Shifts += int64(cap(c.h) + 4*cap(c.hScale))
		want.Rows += int64(cap(c.rows) + 4*cap(c.rowScale))
		want.Tokens += int64(4 * (cap(c.tokens) + len(c.starts) - 1 + cap(c.slots) + buckets))
		want.IDs += int64(8*cap(c.ids) + 4*(cap(c.idf)-1))
	}
	want.IDs += 12 * int64(b.Len())
	want.Directory = 4 * int64(len(b.words.heads)+len(b.words.lists))
	want.Centroids = 4 * int64(len(b.partition.centroids))
	if got := b.Bytes(); got != want || got.Total() < 300*2*testDim {
		t.Errorf("%+v, want %+v", got, want)
	}
}
