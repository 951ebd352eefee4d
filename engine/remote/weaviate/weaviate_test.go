package weaviate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
)

var classes atomic.Int32

// fresh is a Backend over a class that is not there yet.
func fresh(t *testing.T, o weaviate.Options) *weaviate.Backend {
	t.Helper()
	o.Class = fmt.Sprint("Test", classes.Add(1))
	b, err := weaviate.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// flushed is a Backend whose lexical searches wait until the server has flushed what was
// written: until then its BM25 passes over some of it (package weaviate).
type flushed struct {
	*weaviate.Backend
	wrote atomic.Int64 // nanoseconds since 1970
}

func (b *flushed) Put(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	defer func() { b.wrote.Store(time.Now().UnixNano()) }()
	return b.Backend.Put(ctx, docs, fresh)
}

func (b *flushed) Matching(ctx context.Context, terms []remote.WeightedTerm, k int, f engine.Filter) ([]remote.Candidate, error) {
	time.Sleep(time.Until(time.Unix(0, b.wrote.Load()).Add(5 * time.Second)))
	return b.Backend.Matching(ctx, terms, k, f)
}

// TestConformance: a real server answers as an embedded database does.
func TestConformance(t *testing.T) {
	url := server(t)
	backendtest.Run(t, func(t *testing.T) remote.Backend {
		return &flushed{Backend: fresh(t, weaviate.Options{Nodes: []string{url}, Shards: 2})}
	})
}
