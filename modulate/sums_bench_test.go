package modulate

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// zipf draws n distinct-ish token ids with the frequencies of text.
func zipf(r *rand.Rand, vocab, n int) []int32 {
	z := rand.NewZipf(r, 1.1, 3, uint64(vocab-1))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(z.Uint64())
	}
	return ids
}

// texts are passages of about 60 distinct tokens.
func texts(d, vocab, n int) []passage {
	r := rand.New(rand.NewPCG(1, 1))
	ps := make([]passage, n)
	for i := range ps {
		ps[i] = passage{x: unit(r, d), tokens: zipf(r, vocab, 100)}
	}
	return ps
}

func BenchmarkSumsEdit(b *testing.B) {
	const vocab, n = 30522, 20_000
	for _, d := range []int{384, 1536} {
		ps := texts(d, vocab, n)
		for _, batch := range []int{10, 1000} {
			b.Run(fmt.Sprintf("d%d/batch%d", d, batch), func(b *testing.B) {
				for b.Loop() {
					g := newGrowing(d, vocab)
					ids, xs, tokens := g.take(ps)
					b.ResetTimer()
					for at := 0; at < n; at += batch {
						e := g.Edit()
						if err := e.AddAll(ids[at:at+batch], xs[at:at+batch], tokens[at:at+batch]); err != nil {
							b.Fatal(err)
						}
						g.done(e)
					}
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "passages/s")
			})
		}
	}
}

func BenchmarkSumsQuery(b *testing.B) {
	const vocab, n = 30522, 4000
	for _, d := range []int{384, 768, 1536, 3072} {
		ps := texts(d, vocab, n)
		g := newGrowing(d, vocab)
		g.add(ps...)
		b.Run(fmt.Sprintf("d%d/factor", d), func(b *testing.B) {
			for b.Loop() {
				g.settle(b)
			}
		})
		r := rand.New(rand.NewPCG(2, 2))
		in := Input{Tokens: tokens(zipf(r, vocab, 12)...), Dense: unit(r, d)}
		for _, changes := range []int{0, 1, 10, 50, 1000} {
			b.Run(fmt.Sprintf("d%d/after%d", d, changes), func(b *testing.B) {
				g.settle(b)
				g.add(texts(d, vocab, changes)...)
				m, err := NewStack("rlr", Parts{Sums: g.Sums})
				if err != nil {
					b.Fatal(err)
				}
				var out []float32
				for b.Loop() {
					out = m.Modulate(out[:0], in)
				}
				stale, _ := g.Staleness()
				b.ReportMetric(float64(stale), "stale")
			})
		}
	}
}

func BenchmarkModulate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, vocab = 384, 30522
	g := newGrowing(d, vocab)
	g.add(texts(d, vocab, 2000)...)
	g.settle(b)
	p, _ := NewProjection(d, vocab)
	for _, x := range g.all {
		if err := p.Touch(x.tokens...); err != nil {
			b.Fatal(err)
		}
	}
	for i := range p.rows {
		p.rows[i] = float32(r.NormFloat64())
	}
	in := fullInput(r, d, vocab, tokens(zipf(r, vocab, 20)...))
	for _, name := range []string{"slr", "slr-idf", "llr", "llr-full", "clr", "mlm", "rlr", "whiten", "rlr+whiten", "rlr+slr"} {
		stack, err := ParseStack(name)
		if err != nil {
			b.Fatal(err)
		}
		parts := Parts{Sums: g.Sums}
		if stack.Fitted() {
			if parts.Weights, err = stack.Start(d, vocab, 1, parts); err != nil {
				b.Fatal(err)
			}
			parts.Weights.Projection = p
		}
		m, err := NewStack(name, parts)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out []float32
			for b.Loop() {
				out = m.Modulate(out[:0], in)
			}
		})
	}
}
