package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestManyMetadataKeys: a document of very many keys is stored, found by one of them
// and given back, in time that goes with their number. The bound is that of a loaded
// machine.
func TestManyMetadataKeys(t *testing.T) {
	n, each := 50_000, 100*time.Microsecond
	if trial.Long() {
		n, each = 1_000_000, 10*time.Microsecond
	}
	m := make(map[string]any, n)
	for i := range n {
		m[fmt.Sprintf("key%d", i)] = i
	}
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	begin := time.Now()
	add(t, e, []engine.Document{{ID: "a", Text: "x", Metadata: m}, {ID: "b", Text: "y"}})
	took := time.Since(begin)
	t.Logf("%d keys in %v", n, took)
	if bound := time.Duration(n) * each; took > bound {
		t.Errorf("%d keys took %v, at most %v should do", n, took, bound)
	}
	r, err := e.Search(t.Context(), engine.Query{Text: "x", Filter: filter.Eq(fmt.Sprintf("key%d", n-1), n-1)})
	if err != nil || len(r.Hits) != 1 || len(r.Hits[0].Metadata) != n {
		t.Fatalf("%d hits, %v", len(r.Hits), err)
	}
}
