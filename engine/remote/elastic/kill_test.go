package elastic_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/elastic"
	"github.com/lexsem/lexsem/internal/testkit/servers"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestNodeIsKilled: while one of two nodes with data is killed, in the midst of searches and of
// writes, no write that was acknowledged is lost, and searches go on without an error.
func TestNodeIsKilled(t *testing.T) {
	dist := distribution(t)
	dir, err := os.MkdirTemp("", "lexsem-elastic") // others may enter it, unlike that of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := servers.Elasticsearch(t.Context(), dist, dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Kill()
	b, err := elastic.Open(elastic.Options{Nodes: []string{c[1].URL, c[2].URL}, Index: "kill", Shards: 2, Replicas: 1, Copies: 1, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	// The index is made when both nodes are there, with two copies of each shard.
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if holds(c[0], "number_of_data_nodes", 2) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the nodes do not find each other")
		}
	}
	r, err := remote.Over(t.Context(), b, encoder.NewHash(16), remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var docs []engine.Document
	for i := range 200 {
		docs = append(docs, engine.Document{ID: fmt.Sprintf("old %d", i), Text: fmt.Sprintf("number %d of those before", i)})
	}
	if _, err := r.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	stored := len(docs)
	for round := range trial.Rounds(t, 2, 10) {
		green(t, c)
		victim := 1 + round%2
		stored += killBeside(t, c[victim], r, round)
		t.Logf("round %d: node %d was killed, all %d documents that were acknowledged are there", round, victim, stored)
		if n, err := r.Count(t.Context(), engine.Filter{}); err != nil || n != stored {
			t.Fatalf("%d documents, %v; %d were acknowledged", n, err, stored)
		}
		if err := c[victim].Start(); err != nil {
			t.Fatal(err)
		}
		if err := c[victim].Ready(t.Context(), 3*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// holds says whether the cluster's health has a number.
func holds(n *servers.Node, what string, want int) bool {
	var h map[string]any
	return getJSON(n.URL+"/_cluster/health", &h) == nil && h[what] == float64(want)
}

// green waits until every shard has both of its copies.
func green(t *testing.T, c servers.Cluster) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var h map[string]any
		if err := getJSON(c[0].URL+"/_cluster/health", &h); err == nil && h["status"] == "green" && h["number_of_data_nodes"] == 2.0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the cluster does not get well: %v", h)
		}
	}
}

// killBeside kills a node beside writers and searchers, and returns how many documents were
// acknowledged; each of them must be there.
func killBeside(t *testing.T, victim *servers.Node, r *remote.Database, round int) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var acknowledged []string
	var writes, searches atomic.Int64
	stop := make(chan struct{})
	var running sync.WaitGroup
	loop := func(do func(i int) error) {
		running.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := do(i); err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
			}
		})
	}
	for w := range 2 {
		loop(func(i int) error {
			docs := []engine.Document{{ID: fmt.Sprintf("new %d.%d.%d", round, w, i), Text: fmt.Sprintf("written in round %d by %d as number %d", round, w, i)}}
			if _, err := r.Add(ctx, docs); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			acknowledged = append(acknowledged, docs[0].ID)
			writes.Add(1)
			return nil
		})
		loop(func(i int) error {
			res, err := r.Search(ctx, engine.Query{Text: fmt.Sprintf("number %d of those before", i%200), K: 5})
			if err != nil {
				return fmt.Errorf("search: %w", err)
			}
			if len(res.Hits) != 5 || res.Hits[0].BM25 == 0 {
				return fmt.Errorf("search %d: %d hits, the first %+v", i, len(res.Hits), res.Hits)
			}
			searches.Add(1)
			return nil
		})
	}
	until := func(n *atomic.Int64, more int64) {
		for goal := n.Load() + more; n.Load() < goal && ctx.Err() == nil && !t.Failed(); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	until(&writes, 10)
	until(&searches, 10)
	began := time.Now()
	victim.Kill()
	before := writes.Load() + searches.Load()
	until(&writes, 10)
	until(&searches, 10)
	t.Logf("round %d: %d calls in the %s behind the kill", round, writes.Load()+searches.Load()-before, time.Since(began).Round(time.Millisecond))
	close(stop)
	running.Wait()
	if ctx.Err() != nil {
		t.Fatalf("round %d: nothing goes on: %d writes, %d searches", round, writes.Load(), searches.Load())
	}
	for _, id := range acknowledged {
		if _, err := r.Get(ctx, id); err != nil {
			t.Errorf("round %d: an acknowledged write is lost: %v", round, err)
		}
	}
	return len(acknowledged)
}
