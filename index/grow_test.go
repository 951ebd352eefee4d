package index_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/indextest"
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
		add(t, flat, ids(n, 0), v)
		flat.Delete(ids(900, 300)) // whole chunks go, others keep holes
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
		for _, to := range []string{"hnsw", "hnsw-int8"} {
			visible := func(id uint64) bool { return id%50 != 9 }
			graph, err := index.Grow(t.Context(), flat, to, o, visible)
			if err != nil {
				t.Fatal(err)
			}
			verify(t, graph)
			if got := listed(graph); !slices.Equal(got, slices.DeleteFunc(slices.Clone(want), func(id uint64) bool { return !visible(id) })) {
				t.Fatalf("%d ids", len(got))
			}
			ask := func() (a, b []index.Neighbor) {
				for i := range 30 {
					q := v[i*9*dim : (i*9+1)*dim]
					a = append(a, search(t, flat, q, index.SearchOptions{K: 10, Visible: visible})...)
					b = append(b, search(t, graph, q, index.SearchOptions{K: 10})...)
				}
				return a, b
			}
			a, b := ask()
			if hits := common(a, b); hits < 285 {
				t.Errorf("%d of 300 found", hits)
			}
			// what one does the other does not see
			graph.Delete(ids(400, 1200))
			add(t, graph, ids(400, 10_000), v[:400*dim])
			if again, _ := ask(); !slices.Equal(again, a) {
				t.Fatal("the graph has changed the flat index")
			}
			_, b = ask()
			flat.Delete(ids(500, 2000))
			add(t, flat, ids(500, 2000), v[2000*dim:2500*dim])
			if _, again := ask(); !slices.Equal(again, b) {
				t.Fatal("the flat index has changed the graph")
			}
			verify(t, graph)
			verify(t, flat)
		}
	})
}
