package ridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/testcorpus"
)

func BenchmarkEdit(b *testing.B) {
	const vocab, n = 30522, 20_000
	for _, d := range []int{384, 1536} {
		ps, r := make([]passage, n), rand.New(rand.NewPCG(1, 1))
		for i := range ps {
			ps[i].x, ps[i].tokens = unit(r, d), testcorpus.Words(r, vocab, 100)
		}
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
