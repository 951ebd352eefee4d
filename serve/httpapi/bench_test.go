package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// BenchmarkSearch asks a database of 100,000 documents of 40 words, whose words are as
// rare as those of a language, in turns by a call and over HTTP: what the
// server adds to a search, and a search to encoding its query.
func BenchmarkSearch(b *testing.B) {
	const words, docs, step = 30_000, 100_000, 5_000
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 10, words-1)
	texts := func(n int) string {
		var s strings.Builder
		for range n {
			fmt.Fprintf(&s, "w%d ", zipf.Uint64())
		}
		return s.String()
	}
	enc := encoder.NewHash(384)
	db := database(b, enc, engine.Options{NoSync: true})
	for at := 0; at < docs; at += step {
		batch := make([]engine.Document, step)
		for i := range batch {
			batch[i] = engine.Document{ID: fmt.Sprint(at + i), Text: texts(40)}
		}
		if _, err := db.Upsert(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	url, _ := running(b, db, Options{Encoder: enc})
	for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
		b.Run(mode, func(b *testing.B) {
			var encoded, called, asked []time.Duration
			for b.Loop() {
				q := texts(5)
				begin := time.Now()
				if _, err := enc.Encode(b.Context(), encoder.Query, encoder.Texts(q), encoder.NeedDense); err != nil {
					b.Fatal(err)
				}
				encoded = append(encoded, time.Since(begin))
				begin = time.Now()
				if _, err := db.Search(b.Context(), engine.Query{Text: q, Mode: mode}); err != nil {
					b.Fatal(err)
				}
				called = append(called, time.Since(begin))
				begin = time.Now()
				body, err := json.Marshal(map[string]any{"query": q, "mode": mode})
				if err != nil {
					b.Fatal(err)
				}
				r, err := http.Post(url+"/v1/search", kindJSON, strings.NewReader(string(body)))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
					b.Fatal(r.Status, err)
				}
				r.Body.Close()
				asked = append(asked, time.Since(begin))
			}
			for _, m := range []struct {
				name string
				of   []time.Duration
			}{{"encode-p50-ms", encoded}, {"call-p50-ms", called}, {"http-p50-ms", asked}} {
				slices.Sort(m.of)
				b.ReportMetric(float64(m.of[len(m.of)/2].Microseconds())/1000, m.name)
			}
		})
	}
}
