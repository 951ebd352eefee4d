package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// BenchmarkIngest adds 20,000 documents (LEXSEM_BENCH_VECTORS) of 120 words with
// vectors of their own, 1,000 a commit, and reports how many a second. Run it with
// -benchtime 1x.
func BenchmarkIngest(b *testing.B) {
	n := 20_000
	if s := os.Getenv("LEXSEM_BENCH_VECTORS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, dim := range []int{384, 1536} {
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			vectors := indextest.TextLike(n, dim, 1)
			r := rand.New(rand.NewPCG(3, 3))
			zipf := rand.NewZipf(r, 1.1, 4, 50_000)
			docs := make([]engine.Document, n)
			for i := range docs {
				var s strings.Builder
				for range 120 {
					fmt.Fprintf(&s, "w%d ", zipf.Uint64())
				}
				docs[i] = engine.Document{ID: fmt.Sprint(i), Text: s.String(), Vector: vectors[i*dim : (i+1)*dim]}
			}
			for b.Loop() {
				e, err := engine.Open(b.Context(), b.TempDir(), encoder.NewHash(dim), engine.Options{})
				if err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				for at := 0; at < n; at += 1000 {
					if _, err := e.Add(b.Context(), docs[at:min(n, at+1000)]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)/time.Since(start).Seconds(), "documents/s")
				if err := e.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
