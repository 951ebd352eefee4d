package weaviate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestCutOff: writes that end in the middle leave passages whose vectors the server has not in its graph. Their
// cosines are known all the same, and the same call again has them found.
func TestCutOff(t *testing.T) {
	b := fresh(t, weaviate.Options{Nodes: []string{server(t)}, Shards: 2})
	enc := encoder.NewHash(32)
	db, err := remote.Over(t.Context(), b, enc, remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rng := rand.New(rand.NewPCG(7, trial.Seed(t)))
	const n = 200
	ids := make([]remote.PassageID, n)
	for i := range ids {
		ids[i].ID = fmt.Sprint(i)
	}
	took := time.Second
	reached := 0
	rounds := trial.Rounds(t, 8, 100)
	for round := 0; round < rounds || reached == 0 && round < 100; round++ {
		docs := make([]engine.Document, n)
		for i := range docs {
			docs[i] = engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("unit%d of round%d speaks of topic%d", i, round, i%7), Metadata: map[string]any{"all": true}}
		}
		ctx, stop := context.WithCancel(t.Context())
		if round > 0 {
			time.AfterFunc(time.Duration(rng.Int64N(int64(took))), stop)
		}
		began := time.Now()
		if _, err := db.Upsert(ctx, docs); err == nil {
			took = time.Since(began)
		} else if ctx.Err() == nil {
			t.Fatal(err)
		}
		stop()
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond) // until the server has noticed, or before
		stored, err := b.Fetch(t.Context(), ids, true)
		if err != nil {
			t.Fatal(err)
		}
		some := make([]float32, 32)
		some[1] = 1
		cosines, err := b.Cosines(t.Context(), some, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range stored {
			if p != nil && !(math.Abs(cosines[i]-float64(p.Vector[1])) <= 1e-5) {
				t.Fatalf("round %d: document %d: cosine %v, want %v", round, i, cosines[i], p.Vector[1])
			}
		}
		left, err := b.Unsettled(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range left {
			for i := range ids {
				if ids[i] == id && stored[i] != nil {
					reached++
				}
			}
		}
		if _, err := db.Upsert(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		near, err := b.Nearest(t.Context(), some, 2*n, filter.Eq("all", true)) // exact, for few as they are
		if err != nil || len(near) != n {
			t.Fatalf("round %d: %d of %d passages are found by vectors, %v", round, len(near), n, err)
		}
		if res, err := db.Upsert(t.Context(), docs); err != nil || res.Unchanged != n {
			t.Fatalf("round %d: %+v, %v", round, res, err)
		}
	}
	if reached == 0 {
		t.Fatal("no write was cut off where it matters")
	}
	t.Logf("%d passages were stored, but not in the graph", reached)
}
