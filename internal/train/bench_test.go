package train

import (
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// BenchmarkDescent is the descent alone, of 384 dimensions, against all
// passages of a corpus: milliseconds a step of 256 queries, on all cores.
func BenchmarkDescent(b *testing.B) {
	for _, n := range []int{4000, 20000} {
		for _, stack := range []string{"slr", "rlr+slr"} {
			b.Run(fmt.Sprintf("%d/%s", n, stack), func(b *testing.B) {
				enc := encoder.NewHash(384)
				corpus := encoded(b, enc, invented(n))
				b.ResetTimer()
				var took float64
				steps := 0
				for range b.N {
					_, r, err := Fit(b.Context(), corpus, enc, Options{Stack: stack, QueriesPerPassage: 2, MaxQueries: 8000, Epochs: 1})
					if err != nil {
						b.Fatal(err)
					}
					took += r.Descent.Seconds()
					steps += r.Steps
				}
				b.ReportMetric(1000*took/float64(steps), "ms/step")
			})
		}
	}
}
