package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// withLocal is a state of n random documents that local bridges cut into cells, 0 for
// as many as they think fit, with all that a dense leg reads.
func withLocal(t testing.TB, n, dim, vocab, cells int, vector func(r *rand.Rand) []float32, tokens func(r *rand.Rand) []int32) (*state.State, [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	x, err := index.New(index.KindFlatInt8, index.Options{Dim: dim, Metric: "cosine"})
	if err != nil {
		t.Fatal(err)
	}
	live := cow.Set{}.Edit()
	vectors, lists, ids := make([][]float32, n), make([][]int32, n), make([]uint64, n)
	for i := range vectors {
		v := vector(r)
		vec.Normalize(v)
		vectors[i], lists[i], ids[i] = v, tokens(r), uint64(i)
		live.Add(uint64(i))
		if err := x.Add(ids[i:i+1], v); err != nil {
			t.Fatal(err)
		}
	}
	words, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := words.Edit()
	for _, id := range ids {
		if err := e.Add(id, nil); err != nil {
			t.Fatal(err)
		}
	}
	s := &state.State{Live: live.Done(), Limit: uint64(n), Words: e.Done(), Vectors: &state.Vectors{Index: x, Kind: index.KindFlatInt8}}
	s.Local, err = local.Build(t.Context(), dim, vocab, local.Source{
		IDs: ids, Vectors: func(id uint64) []float32 { return vectors[id] },
		Tokens: func(id uint64) ([]int32, error) { return lists[id], nil },
	}, local.Options{Cells: cells, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, vectors
}

func queryOf(ids ...int32) encoder.Tokens {
	return encoder.Tokens{IDs: ids, Special: make([]bool, len(ids))}
}

// TestLocalLeg: a leg that looks into a part of the cells gives every document the
// score of its own cell's vector, completes what it is asked for, and finds as many
// documents as there are however narrow the filter is.
func TestLocalLeg(t *testing.T) {
	const n, dim, vocab, cells = 3000, 8, 500, 60
	ctx := t.Context()
	s, vectors := withLocal(t, n, dim, vocab, cells,
		func(r *rand.Rand) []float32 {
			v := make([]float32, dim)
			for j := range v {
				v[j] = float32(r.NormFloat64())
			}
			return v
		},
		func(r *rand.Rand) []int32 {
			return []int32{int32(r.IntN(vocab)), int32(r.IntN(vocab)), int32(r.IntN(vocab))}
		})
	in := modulate.Input{Tokens: queryOf(3, 77, 205), Dense: vectors[5]}
	all := make([]int, cells)
	for i := range all {
		all[i] = i
	}
	rows, err := s.Local.Modulate(ctx, nil, in, all)
	if err != nil {
		t.Fatal(err)
	}
	score := func(ord uint64) float64 {
		c, _ := s.Local.Cell(ord)
		return float64(vec.Dot(rows[c*dim:(c+1)*dim], vectors[ord]))
	}
	begin := func(found int) *localLeg {
		t.Helper()
		leg, err := newLocalLeg(ctx, s, in, in.Dense, func() ([]float32, error) { return in.Dense, nil }, found, found)
		if err != nil {
			t.Fatal(err)
		}
		return leg
	}
	leg := begin(n)
	if len(leg.cells) != wholeCells {
		t.Fatalf("%d cells probed", len(leg.cells))
	}
	cs, err := leg.nearest(ctx, 10, 0, filtered{})
	if err != nil || len(cs) != 10 {
		t.Fatalf("%d candidates: %v", len(cs), err)
	}
	for i := range 500 {
		cs = append(cs, fusion.Candidate{Ord: uint64(i * 6)})
	}
	if err := leg.score(ctx, cs); err != nil {
		t.Fatal(err)
	}
	for i, c := range cs {
		if math.Abs(c.Dense-score(c.Ord)) > 1e-5 || i > 0 && i < 10 && c.Dense > cs[i-1].Dense {
			t.Fatalf("candidate %d: %v, want %v", i, c.Dense, score(c.Ord))
		}
		if v := leg.vectorFor(c.Ord); math.Abs(float64(vec.Dot(v, vectors[c.Ord]))-c.Dense) > 1e-5 {
			t.Fatalf("candidate %d: scored by another vector than it says", i)
		}
	}
	for _, share := range []uint64{2, 100, 1500} {
		found := n / int(share)
		cs, err := begin(found).nearest(ctx, 50, 0, filtered{allow: func(ord uint64) bool { return ord%share == 1 }})
		if err != nil || len(cs) != min(50, found) {
			t.Fatalf("one of %d: %d candidates, %v", share, len(cs), err)
		}
	}
	// A K beyond what the likeliest cells hold goes to all of them.
	if cs, err = begin(n).nearest(ctx, n, 0, filtered{}); err != nil || len(cs) != n {
		t.Fatalf("%d of all, %v", len(cs), err)
	}
	// What the state does not see is not found, though the cells hold it.
	e := s.Live.Edit()
	e.Remove(5)
	less := *s
	less.Live = e.Done()
	s = &less
	if cs, err = begin(n).nearest(ctx, n, 0, filtered{}); err != nil || len(cs) != n-1 {
		t.Fatalf("%d of all but one, %v", len(cs), err)
	}
}

// BenchmarkLocalQuery holds a query over all cells of the local bridges (modulation
// included), and over those a search looks into, against the plain exact int8 scan of
// the same vectors, on one goroutine. 40,000 vectors of 384 dimensions around 400
// topics, 40 tokens of Zipf's law each, queries of 10.
func BenchmarkLocalQuery(b *testing.B) {
	const n, dim, vocab = 40_000, 384, 30_000
	r := rand.New(rand.NewPCG(2, 2))
	normal := func(r *rand.Rand) []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(r.NormFloat64() / math.Sqrt(dim))
		}
		return v
	}
	topics := make([][]float32, 400)
	for i := range topics {
		topics[i] = normal(r)
	}
	zipf := rand.NewZipf(r, 1.07, 3, vocab-1)
	draw := func(n int) []int32 {
		out := make([]int32, n)
		for i := range out {
			out[i] = int32(zipf.Uint64())
		}
		return out
	}
	near := func(r *rand.Rand) []float32 {
		v := normal(r)
		vec.Axpy(v, 1, topics[r.IntN(len(topics))])
		return v
	}
	s, _ := withLocal(b, n, dim, vocab, 0, near, func(*rand.Rand) []int32 { return draw(40) })
	queries := make([]modulate.Input, 64)
	for i := range queries {
		q := near(r)
		vec.Normalize(q)
		queries[i] = modulate.Input{Tokens: queryOf(draw(10)...), Dense: q}
	}
	ctx := b.Context()
	b.Run("plain", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := (oneVector{s, queries[i%len(queries)].Dense}).nearest(ctx, 10, 0, filtered{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, found := range map[string]int{"all": 1, "probed": n} { // a narrow filter leads into all cells
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				in := queries[i%len(queries)]
				leg, err := newLocalLeg(ctx, s, in, in.Dense, func() ([]float32, error) { return in.Dense, nil }, found, n)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := leg.nearest(ctx, 10, 0, filtered{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.Local.Bytes().Total())/(n*dim*4), "tables/float32") // b.Loop forgets what was reported before
		})
	}
}
