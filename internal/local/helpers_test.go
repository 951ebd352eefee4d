package local

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/testkit/testcorpus"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

const (
	testDim   = 24
	testVocab = 60
)

var ctx = context.Background()

var unit, same = testcorpus.Unit, testcorpus.Same

func workers(n int) func() int { return func() int { return n } }

func tokens(ids ...int32) encoder.Tokens {
	return encoder.Tokens{IDs: ids, Special: make([]bool, len(ids)), Offsets: make([]encoder.Span, len(ids))}
}

func randomTokens(r *rand.Rand, n int) encoder.Tokens {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(2 + r.IntN(testVocab-2))
	}
	return tokens(ids...)
}

// set is n random passages in topics of very different sizes, so that some
// cells have fewer passages than the vectors have components.
type set struct {
	vectors [][]float32
	tokens  [][]int32
}

func newSet(seed uint64, n int) *set {
	r := rand.New(rand.NewPCG(seed, 5))
	c := &set{make([][]float32, n), make([][]int32, n)}
	for i := range n {
		x, tokens := testcorpus.Passage(r, testDim, testVocab)
		c.tokens[i] = tokens
		topic := uint64(0)
		for topic < 6 && r.IntN(2) == 0 {
			topic++
		}
		vec.Axpy(x, 0.8, unit(rand.New(rand.NewPCG(topic, 1)), testDim))
		vec.Normalize(x)
		c.vectors[i] = x
	}
	return c
}

func (c *set) vector(id uint64) []float32 {
	if id >= uint64(len(c.vectors)) {
		return nil
	}
	return c.vectors[id]
}

// source is the passages ids, all of them if there are none.
func (c *set) source(ids ...uint64) Source {
	if len(ids) == 0 {
		for i := range c.vectors {
			ids = append(ids, uint64(i))
		}
	}
	return Source{IDs: ids, Tokens: func(id uint64) ([]int32, error) { return c.tokens[id], nil }, Vectors: c.vector}
}

func (c *set) build(t testing.TB, o Options) *Bridges {
	t.Helper()
	b, err := Build(ctx, testDim, testVocab, c.source(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fresh fits the passages ids anew, in the cells of b.
func (c *set) fresh(t testing.TB, b *Bridges, ids []uint64) *Bridges {
	t.Helper()
	var all []member
	var cell []int
	for _, id := range ids {
		list, err := lexical(c.tokens[id], testVocab)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, member{id, list})
		var scratch []float32
		cell = append(cell, b.partition.find(c.vectors[id], &scratch))
	}
	out, err := b.over(ctx, b.partition, all, cell)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func every(b *Bridges) []int {
	cells := make([]int, b.Cells())
	for i := range cells {
		cells[i] = i
	}
	return cells
}

func modulated(t testing.TB, b *Bridges, in modulate.Input, cells []int) []float32 {
	t.Helper()
	out, err := b.Modulate(ctx, nil, in, cells)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func done(t testing.TB, e *Editor) *Bridges {
	t.Helper()
	b, err := e.Done(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answers is all that bridges answer to a few queries, bit for bit.
type answers struct {
	vectors []float32
	probes  []int
	found   []Scored
	cells   []int
}

func ask(t testing.TB, b *Bridges, seed uint64) (a answers) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 77))
	for range 4 {
		in := modulate.Input{Tokens: randomTokens(r, 1+r.IntN(12)), Dense: unit(r, testDim)}
		vs := modulated(t, b, in, every(b))
		a.vectors = append(a.vectors, vs...)
		probes, err := b.Probe(nil, in, 3)
		if err != nil {
			t.Fatal(err)
		}
		a.probes = append(a.probes, probes...)
		var ps []Probe
		for _, c := range probes {
			ps = append(ps, Probe{c, vs[c*testDim : (c+1)*testDim]})
		}
		if a.found, err = b.Search(ctx, a.found, ps, 9, nil); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint64(400) {
		c, ok := b.Cell(id)
		if ok != b.Has(id) {
			t.Fatalf("passage %d: Cell says %v", id, ok)
		}
		if !ok {
			c = -1
		}
		a.cells = append(a.cells, c)
	}
	return a
}
