package weaviate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
	"github.com/lexsem/lexsem/internal/fanout"
	"github.com/lexsem/lexsem/internal/testkit/servers"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestFanOut: what three shards on three nodes take, beside what the simulation says of it that knows the times of
// one shard of a third of the documents. LEXSEM_TIMES names a file for those, for tools/fanout. It runs in the
// long form; times are told, and may differ by a factor of two.
func TestFanOut(t *testing.T) {
	p := program(t)
	if !trial.Long() {
		t.Skip("it measures for minutes; LEXSEM_LONG=1 runs it")
	}
	nodes, err := servers.Weaviate(t.Context(), p, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, n := range nodes {
		defer n.Kill()
		urls = append(urls, n.URL)
	}
	const documents, dim, queries, candidates = 6000, 128, 600, 200
	enc := encoder.NewHash(dim)
	class := func(shards, n int) *weaviate.Backend {
		b := fresh(t, weaviate.Options{Nodes: urls, Shards: shards, Replicas: 1, Patience: time.Minute})
		db, err := remote.Over(t.Context(), b, enc, remote.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		var docs []engine.Document
		for i := range n {
			docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("unit%d speaks of topic%d and of matter%d", i, i%97, i%31)})
		}
		if _, err := db.Add(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, three := class(1, documents/3), class(3, documents)
	// Both are asked in turn, so that they meet the same machine.
	r := rand.New(rand.NewPCG(1, 2))
	times := map[*weaviate.Backend][]time.Duration{}
	for i := range queries + 50 {
		out, err := enc.Encode(t.Context(), encoder.Query, encoder.Texts(fmt.Sprintf("topic%d of matter%d", r.IntN(97), r.IntN(31))), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []*weaviate.Backend{one, three} {
			began := time.Now()
			found, err := b.Nearest(t.Context(), out[0].Dense, candidates, engine.Filter{})
			if err != nil || len(found) != candidates {
				t.Fatal(len(found), err)
			}
			if i >= 50 { // warm
				times[b] = append(times[b], time.Since(began))
			}
		}
	}
	if name := os.Getenv("LEXSEM_TIMES"); name != "" {
		var b strings.Builder
		for _, d := range times[one] {
			fmt.Fprintf(&b, "%.3f\n", float64(d)/1e6)
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said, err := fanout.Simulate(times[one], fanout.Options{Shards: 3, Queries: 100_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	took := func(share float64) time.Duration { return fanout.Quantile(times[three], share) }
	t.Logf("one shard: p50 %v, p90 %v, p99 %v", fanout.Quantile(times[one], .5), fanout.Quantile(times[one], .9), fanout.Quantile(times[one], .99))
	t.Logf("three, simulated: p50 %v, p90 %v, p99 %v", said.P50, said.P90, said.P99)
	t.Logf("three, measured:  p50 %v, p90 %v, p99 %v", took(.5), took(.9), took(.99))
	if x := float64(took(.5)) / float64(said.P50); x < .5 || x > 2 {
		t.Errorf("half of the queries took %.2f times what was simulated", x)
	}
}
