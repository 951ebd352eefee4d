package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// endsWhenApplied is over as soon as the vectors have outgrown the exact index.
type endsWhenApplied struct {
	context.Context
	vectors *vectors
}

func (c endsWhenApplied) Err() error {
	if c.vectors.Len() > 100 {
		return context.Canceled
	}
	return c.Context.Err()
}

// TestGraphWhenOutgrown: a corpus that has outgrown the exact index gets a
// graph. That it cannot be built, here because the caller has no more time, is
// no failure of the commit: the exact index serves until the next one.
func TestGraphWhenOutgrown(t *testing.T) {
	e, err := Open(t.Context(), t.TempDir(), encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.graphAbove = 100
	var docs []Document
	for i := range 150 {
		docs = append(docs, Document{ID: fmt.Sprint(i), Text: fmt.Sprint("document number ", i)})
	}
	for _, part := range []struct {
		from, to int
		stop     bool
		want     string
	}{{0, 100, false, "flat-int8"}, {100, 120, true, "flat-int8"}, {120, 150, false, "hnsw-int8"}} {
		var ctx context.Context = t.Context()
		if part.stop {
			ctx = endsWhenApplied{ctx, e.vectors}
		}
		if _, err := e.Add(ctx, docs[part.from:part.to]); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, part.to - 1} {
			r, err := e.Search(t.Context(), Query{Text: docs[i].Text, K: 1})
			if err != nil || len(r.Hits) != 1 || r.Hits[0].ID != docs[i].ID || r.Trace.Index != part.want {
				t.Fatalf("%d documents: %+v in %s, %v, want document %d in %s", part.to, r.Hits, r.Trace.Index, err, i, part.want)
			}
		}
	}
}
