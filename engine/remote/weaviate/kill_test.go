package weaviate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
	"github.com/lexsem/lexsem/internal/testkit/servers"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestNodeKilled: three nodes, three shards of two copies each. One node is killed during
// searches and writes, and comes back. Answers go on, and no document whose write was
// acknowledged is lost.
func TestNodeKilled(t *testing.T) {
	p := program(t)
	kills := trial.Rounds(t, 1, 10)
	nodes, err := servers.Weaviate(t.Context(), p, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Kill()
	o := weaviate.Options{Shards: 3, Replicas: 2, Patience: 60 * time.Second}
	for _, n := range nodes {
		o.Nodes = append(o.Nodes, n.URL)
	}
	b := fresh(t, o)
	db, err := remote.Over(t.Context(), b, encoder.NewHash(32), remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	text := func(i int) string { return fmt.Sprintf("unit%d speaks of topic%d and of matter%d", i, i%7, i%31) }
	acknowledged := 0
	write := func() error {
		var docs []engine.Document
		for i := acknowledged; i < acknowledged+10; i++ {
			docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: text(i)})
		}
		_, err := db.Upsert(t.Context(), docs)
		if err == nil {
			acknowledged += 10
		}
		return err
	}
	for range 20 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, uint64(kills)))
	for kill := range kills {
		var answers, longest atomic.Int64
		done, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for i := 0; done.Err() == nil; i++ {
					began := time.Now()
					res, err := db.Search(t.Context(), engine.Query{Text: text(i % 200)})
					if err != nil || len(res.Hits) == 0 {
						t.Errorf("a search beside the kill: %d hits, %v", len(res.Hits), err)
						return
					}
					answers.Add(1)
					longest.Store(max(longest.Load(), int64(time.Since(began))))
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		victim := nodes[r.IntN(len(nodes))]
		var written sync.WaitGroup
		written.Go(func() {
			for range 10 {
				if err := write(); err != nil {
					t.Logf("a write beside the kill: %v", err)
				}
			}
		})
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
		victim.Kill()
		before := answers.Load()
		time.Sleep(10 * time.Second)
		if answers.Load() == before {
			t.Errorf("kill %d: no answer in ten seconds without %s", kill, victim.Name)
		}
		away := answers.Load() - before
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		if err := victim.Ready(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		written.Wait()
		stop()
		readers.Wait()
		if err := write(); err != nil {
			t.Errorf("a write after %s came back: %v", victim.Name, err)
		}
		// What a killed node had in its buffers comes back from the other copies.
		lost := func() (n int) {
			for i := range acknowledged {
				if d, err := db.Get(t.Context(), fmt.Sprint(i)); err != nil || d.Text != text(i) {
					n++
				}
			}
			return n
		}
		back := time.Now()
		missing := lost()
		first := missing
		for missing > 0 && time.Since(back) < 3*time.Minute {
			time.Sleep(time.Second)
			missing = lost()
		}
		if missing > 0 {
			t.Errorf("kill %d of %s: %d of %d acknowledged documents lost", kill, victim.Name, missing, acknowledged)
		}
		t.Logf("kill %d of %s: %d answers meanwhile, the longest took %s; of %d acknowledged documents %d were not found at once and %d after %s",
			kill, victim.Name, away, time.Duration(longest.Load()).Round(time.Millisecond), acknowledged, first, missing, time.Since(back).Round(time.Second))
	}
}
