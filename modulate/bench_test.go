package modulate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/testkit/testcorpus"
)

// BenchmarkSumsOf measures the sums of a corpus of so many passages, and their first factor.
func BenchmarkSumsOf(b *testing.B) {
	const d, vocab = 384, 30522
	for _, n := range []int{5_000, 100_000} {
		all := texts(d, vocab, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				sumsOver(d, vocab, all...)
			}
		})
	}
}

// BenchmarkSumsQuery measures rlr over sums that were changed since their factor.
func BenchmarkSumsQuery(b *testing.B) {
	const vocab, n = 30522, 4000
	for _, d := range []int{384, 768, 1536, 3072} {
		all := append(texts(d, vocab, n), texts(d, vocab, 1000)...)
		s, err := ridge.SumsOf(b.Context(), d, vocab, n,
			func(i int) []float32 { return all[i].x },
			func(i int) ([]int32, error) { return all[i].tokens, nil })
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("d%d/factor", d), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Factor(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		r := rand.New(rand.NewPCG(2, 2))
		in := Input{Tokens: tokens(testcorpus.Words(r, vocab, 12)...), Dense: unit(r, d)}
		for _, changes := range []int{0, 1, 10, 50, 1000} {
			b.Run(fmt.Sprintf("d%d/after%d", d, changes), func(b *testing.B) {
				e := s.Edit()
				for i, p := range all[n : n+changes] {
					if err := e.AddAll([]uint64{uint64(n + i)}, [][]float32{p.x}, [][]int32{p.tokens}); err != nil {
						b.Fatal(err)
					}
				}
				changed, err := e.Done()
				if err != nil {
					b.Fatal(err)
				}
				m, err := NewStack("rlr", Parts{Sums: changed})
				if err != nil {
					b.Fatal(err)
				}
				var out []float32
				for b.Loop() {
					out = m.Modulate(out[:0], in)
				}
				stale, _ := changed.Staleness()
				b.ReportMetric(float64(stale), "stale")
			})
		}
	}
}

func BenchmarkModulate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, vocab = 384, 30522
	all := texts(d, vocab, 2000)
	p, _ := NewProjection(d, vocab)
	for _, x := range all {
		if err := p.Touch(x.tokens...); err != nil {
			b.Fatal(err)
		}
	}
	for i := range p.rows {
		p.rows[i] = float32(r.NormFloat64())
	}
	over := sumsOver(d, vocab, all...)
	in := fullInput(r, d, vocab, tokens(testcorpus.Words(r, vocab, 20)...))
	for _, name := range []string{"slr", "slr-idf", "llr", "llr-full", "clr", "mlm", "rlr", "whiten", "rlr+whiten", "rlr+slr"} {
		stack, err := ParseStack(name)
		if err != nil {
			b.Fatal(err)
		}
		parts := Parts{Sums: over}
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

// texts are passages of about 60 distinct tokens.
func texts(d, vocab, n int) []passage {
	r := rand.New(rand.NewPCG(1, 1))
	ps := make([]passage, n)
	for i := range ps {
		ps[i] = passage{x: unit(r, d), tokens: testcorpus.Words(r, vocab, 100)}
	}
	return ps
}
