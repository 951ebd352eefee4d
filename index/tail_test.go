package index_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// link takes n nodes of the tail into the graph.
func link(t *testing.T, ix index.Index, n int) {
	t.Helper()
	l := ix.(index.Linker)
	before := l.Unlinked()
	if err := l.Link(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got, want := l.Unlinked(), max(0, before-n); got != want {
		t.Fatalf("%d of %d were to be linked, %d are left", n, before, got)
	}
}

// once fails the test where an id was found twice.
func once(t *testing.T, got []index.Neighbor) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, x := range got {
		if seen[x.ID] {
			t.Errorf("%d is found twice", x.ID)
		}
		seen[x.ID] = true
	}
}

func graph(t *testing.T, o index.Options) index.Index {
	t.Helper()
	ix, err := index.New(index.KindHNSWInt8, o)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// TestTail: vectors are found before they are linked, by searches of every kind, and
// as well as before after they are; those beyond Tail are linked at once.
func TestTail(t *testing.T) {
	const n, dim, tail = 3500, 24, 1000
	v := indextest.TextLike(n, dim, 5)
	ix := graph(t, index.Options{Dim: dim, Tail: tail})
	indextest.Add(t, ix, indextest.IDs(n-tail-500, 0), v[:(n-tail-500)*dim])
	link(t, ix, n)
	indextest.Add(t, ix, indextest.IDs(tail+500, n-tail-500), v[(n-tail-500)*dim:])
	unlinked := func(want int) {
		t.Helper()
		if got := ix.(index.Linker).Unlinked(); got != want {
			t.Fatalf("%d are not linked, want %d", got, want)
		}
		if got, err := ix.Unreachable(t.Context()); got != 0 || err != nil {
			t.Fatalf("%d cannot be reached: %v", got, err)
		}
		indextest.Verify(t, ix)
	}
	unlinked(tail)
	itself := func(what string) {
		t.Helper()
		for _, so := range []index.SearchOptions{
			{K: 1}, {K: 10, Ef: 20}, {K: 1, Visible: func(id uint64) bool { return id != 3 }},
			{K: 1, Allow: func(id uint64) bool { return id != 3 }}, {K: 1, Allow: func(id uint64) bool { return id >= n-20 }},
		} {
			for id := uint64(n - 1500); id < n; id += 7 {
				if so.Allow != nil && !so.Allow(id) {
					continue
				}
				got := indextest.Search(t, ix, v[id*dim:(id+1)*dim], so)
				if len(got) != so.K || got[0].Distance > 1e-6 {
					t.Fatalf("%s: %d is not found: %v", what, id, got)
				}
				once(t, got)
			}
		}
		for id := uint64(n - 1500); id < n; id += 7 {
			odd := func(x uint64) bool { return x%2 != id%2 }
			for _, so := range []index.SearchOptions{{K: 10, Visible: odd}, {K: 10, Allow: odd}} {
				for _, x := range indextest.Search(t, ix, v[id*dim:(id+1)*dim], so) {
					if !odd(x.ID) {
						t.Fatalf("%s: %d may not be found", what, x.ID)
					}
				}
			}
		}
	}
	itself("in the tail")
	if n := ix.Delete([]uint64{n - 1, n - 900, 5}); n != 3 {
		t.Fatalf("%d deleted", n)
	}
	unlinked(tail - 2)
	indextest.Add(t, ix, []uint64{n - 1, n - 900}, slices.Concat(v[(n-1)*dim:], v[(n-900)*dim:(n-899)*dim]))
	unlinked(tail)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ix.(index.Linker).Link(ended, 10); !errors.Is(err, context.Canceled) {
		t.Fatalf("a Link that is cancelled: %v", err)
	}
	unlinked(tail)
	link(t, ix, 300)
	unlinked(tail - 300)
	itself("half linked")
	link(t, ix, n)
	unlinked(0)
	itself("linked")
}

// TestTailLinkedWithin: a search that began before nodes were linked, and meets them
// in the graph, finds them once.
func TestTailLinkedWithin(t *testing.T) {
	const n, dim = 3000, 12
	v := indextest.TextLike(n, dim, 8)
	ix := graph(t, index.Options{Dim: dim, Tail: 500})
	indextest.Add(t, ix, indextest.IDs(n, 0), v)
	linked := false
	got := indextest.Search(t, ix, v[(n-1)*dim:], index.SearchOptions{K: 10, Ef: 10, Visible: func(id uint64) bool {
		if !linked { // behind the first walk; so few are visible that there is a second
			linked = true
			link(t, ix, n)
		}
		return id >= n-500 || id%2 == 0
	}})
	if !linked || len(got) != 10 {
		t.Fatalf("linked %v, %d found", linked, len(got))
	}
	once(t, got)
}

// TestTailAlone: where all that was linked is deleted, the tail becomes the graph.
func TestTailAlone(t *testing.T) {
	const n, dim = 300, 8
	v := indextest.TextLike(n, dim, 6)
	ix := graph(t, index.Options{Dim: dim, Tail: n})
	indextest.Add(t, ix, indextest.IDs(n, 0), v)
	indextest.Verify(t, ix)
	if got := ix.(index.Linker).Unlinked(); got != n-1 {
		t.Fatalf("%d are not linked, want all but the first", got)
	}
	for id := range uint64(n) {
		if got := indextest.Search(t, ix, v[(n-1)*dim:], index.SearchOptions{K: n}); len(got) != n-int(id) {
			t.Fatalf("%d answers of %d", len(got), n-int(id))
		}
		if ix.Delete([]uint64{id}) != 1 {
			t.Fatal("not deleted")
		}
		indextest.Verify(t, ix)
	}
}

// TestTailBesideSearches: while the tail is linked, filled and thinned out, each
// search finds what is there, once.
func TestTailBesideSearches(t *testing.T) {
	const n, dim = 2000, 16
	v := indextest.TextLike(n, dim, 7)
	ix := graph(t, index.Options{Dim: dim, Tail: 400})
	indextest.Add(t, ix, indextest.IDs(n/2, 0), v[:n/2*dim])
	done := make(chan struct{})
	var wg sync.WaitGroup
	for r := range 3 {
		wg.Go(func() {
			for i := r; ; i += 3 {
				select {
				case <-done:
					return
				default:
				}
				id := uint64(i * 31 % (n / 4)) // these stay
				got, err := ix.Search(nil, v[id*dim:(id+1)*dim], index.SearchOptions{K: 20})
				if err != nil || len(got) != 20 || got[0].Distance > 1e-6 {
					t.Errorf("%d is not found: %v, %v", id, got, err)
					return
				}
				once(t, got)
			}
		})
	}
	for i := uint64(n / 2); i < n; i += 50 {
		indextest.Add(t, ix, indextest.IDs(50, i), v[i*dim:(i+50)*dim])
		ix.Delete(indextest.IDs(20, i+5))
		ix.Delete(indextest.IDs(10, n/4+(i-n/2)/4))
		link(t, ix, 60)
	}
	close(done)
	wg.Wait()
	indextest.Verify(t, ix)
}
