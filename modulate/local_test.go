package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
)

// localCorpus is n random passages in cells of very different sizes, so that
// some have fewer passages than the vectors have components.
type localCorpus struct {
	p        *Partition
	passages []passage
}

func newLocalCorpus(t testing.TB, seed uint64, n, cells int) localCorpus {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	c := localCorpus{passages: make([]passage, n)}
	for i := range c.passages {
		c.passages[i] = randomPassage(r, lawDim, lawVocab)
		// lean towards one of a few topics of falling size
		topic := uint64(0)
		for topic < 6 && r.IntN(2) == 0 {
			topic++
		}
		vec.Axpy(c.passages[i].x, 0.8, unit(rand.New(rand.NewPCG(topic, 1)), lawDim))
		vec.Normalize(c.passages[i].x)
	}
	var err error
	c.p, err = NewPartition(lawDim, n, c.vector, PartitionOptions{Cells: cells, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c localCorpus) vector(i int) []float32 { return c.passages[i].x }

func (c localCorpus) empty(t testing.TB, o LocalOptions) *Local {
	t.Helper()
	l, err := NewLocal(c.p, lawVocab, func(id uint64) []float32 { return c.passages[id].x }, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (c localCorpus) add(t testing.TB, l *Local, ids ...int) {
	t.Helper()
	for _, i := range ids {
		if err := l.Add(c.p.Cell(c.passages[i].x), uint64(i), c.passages[i].tokens); err != nil {
			t.Fatal(err)
		}
	}
}

func (c localCorpus) build(t testing.TB, o LocalOptions) *Local {
	l := c.empty(t, o)
	for i := range c.passages {
		c.add(t, l, i)
	}
	return l
}

func every(l *Local) []int {
	cells := make([]int, l.Partition().Cells())
	for i := range cells {
		cells[i] = i
	}
	return cells
}

func localVectors(t testing.TB, l *Local, in Input, cells []int) []float32 {
	t.Helper()
	out, err := l.Modulate(nil, in, cells)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// In each cell the shift is β·l/Σ idf of an RLR over the passages of that cell,
// its idf held below that of the corpus, up to the rounding of the codes.
func TestLocalIsRLROfEachCell(t *testing.T) {
	c := newLocalCorpus(t, 1, 400, 7)
	r := rand.New(rand.NewPCG(2, 2))
	for _, o := range []LocalOptions{{}, {TableFrom: 1}, {TableFrom: 1 << 20, Lambda: 1}, {Beta: 0.5, Lambda: 30}} {
		l := c.build(t, o)
		o = l.Options()
		sums := make([]*Sums, c.p.Cells())
		for i := range sums {
			sums[i] = NewSums(lawDim, lawVocab)
		}
		whole := NewSums(lawDim, lawVocab)
		for _, p := range c.passages {
			if err := whole.Add(p.x, p.tokens); err != nil {
				t.Fatal(err)
			}
			if err := sums[c.p.Cell(p.x)].Add(p.x, p.tokens); err != nil {
				t.Fatal(err)
			}
		}
		small, large := 0, 0
		for range 30 {
			in := Input{Tokens: randomTokens(r, lawVocab, 1+r.IntN(9)), Dense: unit(r, lawDim)}
			got := localVectors(t, l, in, every(l))
			var all float64
			for _, token := range in.Tokens.Lexical(nil) {
				if whole.DF(token) > 0 {
					all += idf(whole.Len(), whole.DF(token))
				}
			}
			for cell, s := range sums {
				if s.Len() < lawDim {
					small++
				} else {
					large++
				}
				g := make([]float64, lawDim)
				for _, token := range in.Tokens.Lexical(nil) {
					if s.DF(token) == 0 {
						continue
					}
					df := float64(s.DF(token))
					w := min(idf(s.Len(), s.DF(token)), idf(whole.Len(), whole.DF(token)))
					for i, x := range s.rows[s.slot[token]] {
						g[i] += w * (x - df*s.total[i]/float64(s.Len()))
					}
				}
				var inv inverse
				inv.fresh(s, o.Lambda)
				var miss, size float64
				for i := range lawDim {
					var shift float64
					for j, x := range g {
						shift += inv.inv[i*lawDim+j] * x
					}
					shift *= l.beta() / all
					size += shift * shift
					miss += math.Pow(float64(got[cell*lawDim+i]-in.Dense[i])-shift, 2)
				}
				if math.Sqrt(miss) > 0.02*math.Sqrt(size)+1e-4*l.beta() {
					t.Fatalf("%+v: cell %d of %d passages is off by %g of %g", o, cell, s.Len(), math.Sqrt(miss), math.Sqrt(size))
				}
			}
		}
		if small == 0 || large == 0 {
			t.Fatalf("only one form was tested: %d cells below d, %d above", small, large)
		}
	}
}

// After any inserts and deletes the vectors are those of a fresh build over the
// same partition, bit for bit.
func TestLocalFollowsTheCorpus(t *testing.T) {
	c := newLocalCorpus(t, 3, 300, 6)
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 3))
		l, present := c.empty(t, LocalOptions{Workers: 2}), map[int]bool{}
		for step := range 1000 {
			i := r.IntN(len(c.passages))
			if present[i] {
				if !l.Remove(uint64(i)) || l.Remove(uint64(i)) {
					t.Fatal("Remove is wrong about what was there")
				}
				delete(present, i)
			} else {
				c.add(t, l, i)
				present[i] = true
			}
			if l.Len() != len(present) {
				t.Fatalf("%d passages, want %d", l.Len(), len(present))
			}
			if step%100 != 99 {
				if step%7 == 0 { // fits in between must leave no trace
					if err := l.Refresh(); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			fresh := c.empty(t, LocalOptions{Workers: 1})
			var ids []int
			for i := range present {
				ids = append(ids, i)
			}
			c.add(t, fresh, ids...)
			for range 10 {
				in := Input{Tokens: randomTokens(r, lawVocab, 1+r.IntN(12)), Dense: unit(r, lawDim)}
				if !same(localVectors(t, l, in, every(l)), localVectors(t, fresh, in, every(l))) {
					t.Fatalf("seed %d, step %d: differs from a fresh build", seed, step)
				}
				a, errA := l.Probe(nil, in, 6)
				b, errB := fresh.Probe(nil, in, 6)
				if errA != nil || errB != nil || !slices.Equal(a, b) {
					t.Fatalf("probes %v and %v; %v %v", a, b, errA, errB)
				}
			}
		}
	}
}

func TestLocalLaws(t *testing.T) {
	c := newLocalCorpus(t, 4, 300, 5)
	l := c.build(t, LocalOptions{})
	r := rand.New(rand.NewPCG(6, 6))
	for range 100 {
		q := unit(r, lawDim)
		before := slices.Clone(q)
		// without usable tokens every cell has q, bit for bit
		for _, in := range []Input{{Dense: q}, {Dense: q, Tokens: tokens()}, {Dense: q, Tokens: tokens(-3, lawVocab, math.MaxInt32)}} {
			for cell, got := range slices.Collect(slices.Chunk(localVectors(t, l, in, every(l)), lawDim)) {
				if !same(got, q) {
					t.Fatalf("cell %d moved a query without tokens", cell)
				}
			}
		}
		tok := randomTokens(r, lawVocab, 1+r.IntN(90))
		want := localVectors(t, l, Input{Tokens: tok, Dense: q}, every(l))
		if !vec.Finite(want) || !same(q, before) {
			t.Fatal("not finite, or the query was changed")
		}
		// order and repetition of tokens are of no account
		ids := tok.Lexical(nil)
		ids = append(ids, ids[:r.IntN(len(ids)+1)]...)
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		if d := maxDiff(localVectors(t, l, Input{Tokens: tokens(ids...), Dense: q}, every(l)), want); d > 1e-5 {
			t.Fatalf("order or repetition moved the query by %g", d)
		}
		// the tokens' shares add up to the shift
		p := unit(r, lawDim)
		for cell := range 5 {
			shares, err := l.Shares(nil, Input{Tokens: tok, Dense: q}, cell, p)
			if err != nil || len(shares) != len(tok.Lexical(nil)) {
				t.Fatal(len(shares), err)
			}
			sum := float64(vec.Dot(q, p))
			for _, s := range shares {
				sum += s
			}
			if got := float64(vec.Dot(want[cell*lawDim:(cell+1)*lawDim], p)); math.Abs(got-sum) > 1e-5 {
				t.Fatalf("shares add up to %v, the score is %v", sum, got)
			}
		}
		// a cell's vector does not depend on which others are asked for
		for i, cell := range r.Perm(5)[:3] {
			got := localVectors(t, l, Input{Tokens: tok, Dense: q}, []int{cell})
			if !same(got, want[cell*lawDim:(cell+1)*lawDim]) {
				t.Fatalf("%d: cell %d has another vector alone", i, cell)
			}
		}
	}
}

// A token that one cell alone has leads there, and cells without any of the
// query's tokens come by their centroids.
func TestLocalProbe(t *testing.T) {
	c := newLocalCorpus(t, 8, 200, 5)
	for i := range c.passages {
		c.passages[i].tokens = slices.DeleteFunc(c.passages[i].tokens, func(t int32) bool { return t < 10 })
	}
	c.passages[7].tokens = append(c.passages[7].tokens, 3)
	l := c.build(t, LocalOptions{})
	r := rand.New(rand.NewPCG(1, 9))
	for range 50 {
		q := unit(r, lawDim)
		got, err := l.Probe(nil, Input{Tokens: tokens(3), Dense: q}, 1)
		if err != nil || len(got) != 1 || got[0] != c.p.Cell(c.passages[7].x) {
			// a centroid can be nearer by more than 1 only if it is opposite
			dots := make([]float32, 5)
			c.p.Dots(dots, q)
			if slices.Max(dots)-dots[c.p.Cell(c.passages[7].x)] < 1 {
				t.Fatalf("probes %v, want cell %d; %v", got, c.p.Cell(c.passages[7].x), err)
			}
		}
		got, err = l.Probe(got[:0], Input{Tokens: tokens(4), Dense: q}, 99)
		if err != nil || len(got) != 5 || got[0] != c.p.Cell(q) {
			t.Fatalf("probes %v, want cell %d first; %v", got, c.p.Cell(q), err)
		}
		slices.Sort(got)
		if !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("all cells are %v", got)
		}
	}
}

// The default β rises from 10,000 to 20,000 passages, without a step.
func TestLocalBeta(t *testing.T) {
	last := 0.0
	for _, c := range []struct {
		n    int
		want float64
	}{{0, 0.8}, {1, 0.8}, {10000, 0.8}, {10001, 0.8}, {14142, 0.9}, {20000, 1}, {20001, 1}, {1 << 30, 1}} {
		got := localBeta(c.n)
		if math.Abs(got-c.want) > 1e-4 || got < last {
			t.Errorf("%d passages: %v, want %v", c.n, got, c.want)
		}
		last = got
	}
	c := newLocalCorpus(t, 9, 60, 3)
	if l := c.build(t, LocalOptions{}); l.beta() != 0.8 {
		t.Errorf("%v for 60 passages", l.beta())
	}
	if l := c.build(t, LocalOptions{Beta: 2}); l.beta() != 2 {
		t.Errorf("%v, asked for 2", l.beta())
	}
}

func TestLocalRefuses(t *testing.T) {
	c := newLocalCorpus(t, 5, 50, 3)
	for _, o := range []LocalOptions{{Beta: -1}, {Beta: math.NaN()}, {Beta: 11}, {Lambda: -1}, {Lambda: 1e10}, {TableFrom: -1}, {Workers: -1}} {
		if _, err := NewLocal(c.p, lawVocab, func(uint64) []float32 { return nil }, o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := NewLocal(nil, 5, func(uint64) []float32 { return nil }, LocalOptions{}); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
	if _, err := NewLocal(c.p, 5, nil, LocalOptions{}); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
	l := c.empty(t, LocalOptions{})
	c.add(t, l, 1)
	for name, err := range map[string]error{
		"cell":  l.Add(3, 2, nil),
		"below": l.Add(-1, 2, nil),
		"token": l.Add(0, 2, []int32{lawVocab}),
		"minus": l.Add(0, 2, []int32{-1}),
		"twice": l.Add(0, 1, nil),
	} {
		if !errors.Is(err, ErrPassage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if l.Len() != 1 || l.Remove(44) {
		t.Error("a refused passage was taken in")
	}
	q := unit(rand.New(rand.NewPCG(1, 1)), lawDim)
	for name, f := range map[string]func() error{
		"dimension": func() error { _, err := l.Modulate(nil, Input{Dense: q[:3]}, nil); return err },
		"probe":     func() error { _, err := l.Probe(nil, Input{Dense: q[:3]}, 1); return err },
		"cell":      func() error { _, err := l.Modulate(nil, Input{Dense: q}, []int{3}); return err },
		"twice":     func() error { _, err := l.Modulate(nil, Input{Dense: q}, []int{1, 1}); return err },
	} {
		if err := f(); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// a passage without a vector is an error until it is gone
	for _, bad := range [][]float32{nil, q[:4], make([]float32, lawDim), {float32(math.NaN())}} {
		kept := c.passages[2].x
		cell := c.p.Cell(kept)
		if err := l.Add(cell, 2, nil); err != nil {
			t.Fatal(err)
		}
		c.passages[2].x = bad
		if _, err := l.Modulate(nil, Input{Dense: q}, []int{cell}); !errors.Is(err, ErrPassage) {
			t.Errorf("vector %v: %v", bad, err)
		}
		l.Remove(2)
		c.passages[2].x = kept
		if _, err := l.Modulate(nil, Input{Dense: q}, []int{cell}); err != nil {
			t.Error(err)
		}
	}
}

func TestLocalConcurrently(t *testing.T) {
	c := newLocalCorpus(t, 6, 120, 4)
	l := c.empty(t, LocalOptions{Workers: 2})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			var out []float32
			for step := range 60 {
				i := w + 4*r.IntN(30) // each goroutine has passages of its own
				if !l.Remove(uint64(i)) {
					if err := l.Add(c.p.Cell(c.passages[i].x), uint64(i), c.passages[i].tokens); err != nil {
						t.Error(err)
					}
				}
				in := Input{Tokens: randomTokens(r, lawVocab, 5), Dense: unit(r, lawDim)}
				var err error
				if out, err = l.Modulate(append(out[:0], 42), in, []int{2, 0}); err != nil || len(out) != 1+2*lawDim || out[0] != 42 || !vec.Finite(out) {
					t.Errorf("step %d: %v", step, err)
				}
				if _, err := l.Probe(nil, in, 2); err != nil || l.Skew() < 0 || l.Bytes() <= 0 {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestLocalDoesNotAllocate(t *testing.T) {
	if racing {
		t.Skip("pools drop items under the race detector")
	}
	c := newLocalCorpus(t, 7, 300, 5)
	l := c.build(t, LocalOptions{})
	r := rand.New(rand.NewPCG(1, 1))
	in := Input{Tokens: randomTokens(r, lawVocab, 8), Dense: unit(r, lawDim)}
	out, cells := localVectors(t, l, in, every(l)), make([]int, 0, 5)
	n := testing.AllocsPerRun(200, func() {
		cells, _ = l.Probe(cells[:0], in, 3)
		out, _ = l.Modulate(out[:0], in, cells)
	})
	if n > 0.1 {
		t.Errorf("%v allocations a query", n)
	}
}
