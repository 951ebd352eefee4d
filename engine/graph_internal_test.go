package engine

import (
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestGraphWhenOutgrown: a corpus that has outgrown the exact index gets a graph,
// which is built behind the commits, follows what comes meanwhile, and is there
// again after reopening. Searches find the same before, beside and after.
func TestGraphWhenOutgrown(t *testing.T) {
	dir, enc := t.TempDir(), encoder.NewHash(32)
	e, err := open(t.Context(), dir, enc, Options{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int) string { return fmt.Sprint("document number ", i) }
	find := func(i int) string {
		t.Helper()
		r, err := e.Search(t.Context(), Query{Text: text(i), K: 1})
		if err != nil || len(r.Hits) != 1 || r.Hits[0].ID != fmt.Sprint(i) {
			t.Fatalf("document %d: %+v in %s, %v", i, r.Hits, r.Trace.Index, err)
		}
		return r.Trace.Index
	}
	for i := range 150 {
		if _, err := e.Add(t.Context(), []Document{{ID: fmt.Sprint(i), Text: text(i)}}); err != nil {
			t.Fatal(err)
		}
		find(i)
		if kind := find(0); i < 100 && kind != "flat-int8" {
			t.Fatalf("%s of %d documents", kind, i+1)
		}
		if i == 120 { // while a graph may be in the making
			if n, err := e.Delete(t.Context(), []string{"7"}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, i := range []int{0, 99, 100, 119, 121, 149} {
			if kind := find(i); kind != "hnsw-int8" {
				t.Fatalf("searched in %s", kind)
			}
		}
		if r, err := e.Search(t.Context(), Query{Text: text(7), K: 200, Mode: ModeDense}); err != nil || len(r.Hits) != 149 {
			t.Fatalf("%d hits, %v", len(r.Hits), err)
		}
		v, err := e.Verify(t.Context(), nil)
		if err != nil || len(v.Problems) > 0 || v.SelfRecall != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err = open(t.Context(), dir, enc, Options{}, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
