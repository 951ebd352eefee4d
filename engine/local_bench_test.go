package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// BenchmarkLocalQuery holds a query over all cells of the local bridges
// (modulation included), and over those a search looks into, against the plain
// exact int8 scan of the same vectors, on one goroutine. 40,000 vectors of 384
// dimensions around 400 topics, 40 tokens of Zipf's law each, queries of 10.
func BenchmarkLocalQuery(b *testing.B) {
	const n, dim, vocab = 40_000, 384, 30_000
	r := rand.New(rand.NewPCG(1, 1))
	topics := make([][]float32, 400)
	for i := range topics {
		topics[i] = normal(r, dim)
	}
	zipf := rand.NewZipf(r, 1.07, 3, vocab-1)
	draw := func(n int) []int32 {
		out := make([]int32, n)
		for i := range out {
			out[i] = int32(zipf.Uint64())
		}
		return out
	}
	vectors := make([][]float32, n)
	p := &local{dim: dim, vocab: vocab, vector: func(ord uint64) []float32 { return vectors[ord] }}
	if err := p.reset(); err != nil {
		b.Fatal(err)
	}
	plain, err := index.New("flat-int8", index.Options{Dim: dim, Metric: metric})
	if err != nil {
		b.Fatal(err)
	}
	for i := range vectors {
		v := normal(r, dim)
		vec.Axpy(v, 1, topics[r.IntN(len(topics))])
		vec.Normalize(v)
		vectors[i] = v
		if err := p.add([]version{{ord: uint64(i), vector: v, tokens: draw(40)}}); err != nil {
			b.Fatal(err)
		}
		if err := plain.Add([]uint64{uint64(i)}, v); err != nil {
			b.Fatal(err)
		}
	}
	if err := (&Engine{local: p}).settle(); err != nil {
		b.Fatal(err)
	}
	if err := p.Refresh(); err != nil {
		b.Fatal(err)
	}
	floats := float64(n * dim * 4)
	queries := make([]modulate.Input, 64)
	for i := range queries {
		ids := draw(10)
		q := normal(r, dim)
		vec.Axpy(q, 1, topics[i])
		vec.Normalize(q)
		queries[i] = modulate.Input{Tokens: encoder.Tokens{IDs: ids, Special: make([]bool, len(ids))}, Dense: q}
	}
	b.Run("plain", func(b *testing.B) {
		var out []index.Neighbor
		for i := 0; b.Loop(); i++ {
			if out, err = plain.Search(out[:0], queries[i%len(queries)].Dense, index.SearchOptions{K: 10}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		ps := make([]index.Probe, p.cells.Cells())
		var out []index.Scored
		for i := 0; b.Loop(); i++ {
			for c := range ps {
				ps[c] = index.Probe{Cell: c, Query: queries[i%len(queries)].Dense}
			}
			if out, err = p.cells.Search(out[:0], queries[i%len(queries)].Dense, ps, index.SearchOptions{K: 10}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, cells := range map[string]int{"all": p.cells.Cells(), "probed": probes(p.cells.Cells(), n, n)} {
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(float64(p.Bytes())/floats, "tables/float32")
			for i := 0; b.Loop(); i++ {
				in := queries[i%len(queries)]
				leg := &localLeg{p: p, in: in, plain: in.Dense, found: n, at: make([]int, p.cells.Cells())}
				for c := range leg.at {
					leg.at[c] = -1
				}
				if leg.cells, err = p.Probe(nil, in, cells); err != nil {
					b.Fatal(err)
				}
				if err := leg.modulate(leg.cells); err != nil {
					b.Fatal(err)
				}
				if _, err := leg.search(10, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// normal is a random vector of length about 1.
func normal(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64() / math.Sqrt(float64(dim)))
	}
	return v
}
