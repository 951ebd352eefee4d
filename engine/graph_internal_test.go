package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// TestGraphWhenOutgrown: a corpus that has outgrown the exact index gets a graph,
// which is built behind the commits, follows what comes meanwhile, and is there
// again after reopening. Searches find the same before, beside and after.
func TestGraphWhenOutgrown(t *testing.T) {
	t.Parallel()
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

// TestGraphWaitsForABulkLoad: while documents come in bulk they go into the exact
// index. The graph is made when the load is over, or a corpus of several times the
// size that is due one has come.
func TestGraphWaitsForABulkLoad(t *testing.T) {
	for name, c := range map[string]struct{ bulk, then int }{
		"over":  {600, 0},
		"large": {1200, 1}, // one more, again and again
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := open(t.Context(), t.TempDir(), encoder.NewHash(8), Options{}, 300)
			if err != nil {
				t.Fatal(err)
			}
			defer closed(t, e)
			n := 0
			load := func(more int) {
				t.Helper()
				docs := make([]Document, more)
				for i := range docs {
					docs[i] = Document{ID: fmt.Sprint(n), Text: fmt.Sprint("document number ", n)}
					n++
				}
				if _, err := e.Add(t.Context(), docs); err != nil {
					t.Fatal(err)
				}
			}
			kind := func() string {
				ref := e.db.Acquire()
				defer ref.Release()
				return ref.Value.Vectors.Kind
			}
			for begin := time.Now(); n < c.bulk; {
				load(300)
				time.Sleep(50 * time.Millisecond) // for the maintainer
				now := kind()                     // before the clock is read: others may have the machine between the two
				if took := time.Since(begin); took < time.Second && now != "flat-int8" {
					t.Fatalf("%s of %d documents within %v", now, n, took)
				}
			}
			for deadline := time.Now().Add(time.Minute); kind() != "hnsw-int8"; {
				if c.then > 0 {
					load(c.then)
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s of %d documents", kind(), n)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
}
