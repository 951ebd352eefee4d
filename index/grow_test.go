package index_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// A graph grown over a flat index has its visible vectors, and the two go
// their own ways afterwards, however they were made.
func TestGrow(t *testing.T) {
	const n, dim = 2600, 16
	v := indextest.TextLike(n, dim, 6)
	forAllWith(t, index.Options{Dim: dim, M: 8, EfConstruction: 60}, func(t *testing.T, o index.Options, flat index.Index) {
		kind := kindOf(t)
		if !strings.HasPrefix(kind, "flat") {
			if _, err := index.Grow(t.Context(), flat, kind, o, nil); !errors.Is(err, index.ErrMismatch) {
				t.Fatalf("a graph of a graph: %v", err)
			}
			return
		}
		indextest.Add(t, flat, indextest.IDs(n, 0), v)
		flat.Delete(indextest.IDs(900, 300)) // whole chunks go, others keep holes
		if o.Metric == index.Dot {
			flat = open(t, kind, o, save(t, flat))
		}
		want := listed(flat)
		if _, err := index.Grow(t.Context(), flat, "hnsw", index.Options{Dim: dim + 1, Metric: o.Metric}, nil); !errors.Is(err, index.ErrMismatch) {
			t.Errorf("of another dimension: %v", err)
		}
		if _, err := index.Grow(endsAfter(50), flat, "hnsw", o, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not ended: %v", err)
		}
		for _, to := range []string{"hnsw", "hnsw-int8", "hnsw-compact"} {
			visible := func(id uint64) bool { return id%50 != 9 }
			graph, err := index.Grow(t.Context(), flat, to, o, visible)
			if err != nil {
				t.Fatal(err)
			}
			indextest.Verify(t, graph)
			if got := listed(graph); !slices.Equal(got, slices.DeleteFunc(slices.Clone(want), func(id uint64) bool { return !visible(id) })) {
				t.Fatalf("%d ids", len(got))
			}
			ask := func() (a, b []index.Neighbor) {
				for i := range 30 {
					q := v[i*9*dim : (i*9+1)*dim]
					a = append(a, indextest.Search(t, flat, q, index.SearchOptions{K: 10, Visible: visible})...)
					b = append(b, indextest.Search(t, graph, q, index.SearchOptions{K: 10})...)
				}
				return a, b
			}
			a, b := ask()
			if hits := indextest.Common(a, b); hits < 285 {
				t.Errorf("%d of 300 found", hits)
			}
			// what one does the other does not see
			graph.Delete(indextest.IDs(400, 1200))
			indextest.Add(t, graph, indextest.IDs(400, 10_000), v[:400*dim])
			if again, _ := ask(); !slices.Equal(again, a) {
				t.Fatal("the graph has changed the flat index")
			}
			_, b = ask()
			flat.Delete(indextest.IDs(500, 2000))
			indextest.Add(t, flat, indextest.IDs(500, 2000), v[2000*dim:2500*dim])
			if _, again := ask(); !slices.Equal(again, b) {
				t.Fatal("the flat index has changed the graph")
			}
			indextest.Verify(t, graph)
			indextest.Verify(t, flat)
		}
	})
}

// A graph that is grown with a tail has all vectors at once, most of them beside it. What is added waits there, too, until
// Link has made the tail as short as it may be; half linked, it is saved and opened as it is.
func TestGrowWithATail(t *testing.T) {
	const n, dim, tail = 2600, 16, 100
	v := indextest.TextLike(n+300, dim, 7)
	o := index.Options{Dim: dim, M: 8, EfConstruction: 60, Tail: tail}
	flat, err := index.New("flat-int8", index.Options{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	indextest.Add(t, flat, indextest.IDs(n, 0), v[:n*dim])
	for _, kind := range []string{"hnsw", "hnsw-int8", "hnsw-compact"} {
		ix, err := index.Grow(t.Context(), flat, kind, o, func(id uint64) bool { return id%50 != 9 })
		if err != nil {
			t.Fatal(err)
		}
		all := ix.Len()
		if left := ix.(index.Linker).Unlinked(); left != all-1 || all != n-n/50 {
			t.Fatalf("%d of %d wait", left, all)
		}
		sound := func(when string) {
			t.Helper()
			indextest.Verify(t, ix)
			lost := 0
			for i := 0; i < n; i += 13 {
				q := v[i*dim : (i+1)*dim]
				got := indextest.Search(t, ix, q, index.SearchOptions{K: 1})
				if len(got) != 1 || (got[0].ID != uint64(i)) != (i%50 == 9) {
					lost++
				}
			}
			if lost > 2 {
				t.Errorf("%s: %d of %d are not found", when, lost, n/13)
			}
		}
		sound("at once")
		before := ix.(index.Linker).Unlinked()
		indextest.Add(t, ix, indextest.IDs(300, n), v[n*dim:])
		if left := ix.(index.Linker).Unlinked(); left != before+300 {
			t.Errorf("%d wait behind an Add of 300, %d before it", left, before)
		}
		if gone := ix.Delete(indextest.IDs(300, n)); gone != 300 {
			t.Errorf("%d deleted", gone)
		}
		if err := ix.(index.Linker).Link(t.Context(), n/2); err != nil {
			t.Fatal(err)
		}
		sound("half linked")
		left := ix.(index.Linker).Unlinked()
		ix = open(t, kind, o, save(t, ix))
		if again := ix.(index.Linker).Unlinked(); again != left || left != all-1-n/2 {
			t.Errorf("%d wait, %d of %d before it was saved", again, left, all)
		}
		sound("opened")
		if err := ix.(index.Linker).Link(t.Context(), left-tail+1); err != nil {
			t.Fatal(err)
		}
		indextest.Add(t, ix, indextest.IDs(300, n), v[n*dim:])
		if left := ix.(index.Linker).Unlinked(); left != tail {
			t.Errorf("%d wait, where Add leaves %d", left, tail)
		}
		sound("linked")
	}
}
