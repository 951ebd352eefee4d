package index_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// What is not visible is as if it were absent, beside Allow and without.
func TestVisible(t *testing.T) {
	const n, dim = textN, textDim
	v := textVectors()
	queries := indextest.TextLikeQueries(6, dim, 3)
	forText(t, func(t *testing.T, o index.Options, ix index.Index) {
		hits, asked := 0, 0
		for qi := range 6 {
			q := queries[qi*dim : (qi+1)*dim]
			near := map[uint64]bool{}
			for _, x := range indextest.Exact(o.Metric, q, v, n, dim, nil)[:150] {
				near[x.ID] = true
			}
			calls := 0
			for name, visible := range map[string]func(uint64) bool{
				"most":     func(id uint64) bool { calls++; return id%40 != 7 },
				"not near": func(id uint64) bool { calls++; return !near[id] }, // the worst case
				"one":      func(id uint64) bool { calls++; return id == 77 },
				"none":     func(uint64) bool { calls++; return false },
			} {
				for _, allow := range []func(uint64) bool{nil, func(id uint64) bool { return id%3 == 1 }} {
					want := indextest.Exact(o.Metric, q, v, n, dim, func(id uint64) bool { return visible(id) && (allow == nil || allow(id)) })
					want = want[:min(10, len(want))]
					so := index.SearchOptions{K: 10, Allow: allow, Visible: visible}
					calls = 0
					got := indextest.Search(t, ix, q, so)
					if len(got) != len(want) {
						t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
					}
					if name == "most" && calls > n/3 {
						t.Errorf("%s: asked about %d of %d ids", name, calls, n)
					}
					for _, x := range got {
						if !visible(x.ID) || allow != nil && !allow(x.ID) {
							t.Fatalf("%s: %d is there", name, x.ID)
						}
					}
					hits += indextest.Common(want, got)
					asked += len(want)
				}
			}
		}
		// four queries and more are answered as a block
		dst := make([][]index.Neighbor, 6)
		visible := func(id uint64) bool { return id%40 != 7 }
		if err := ix.SearchBatch(dst, queries, index.SearchOptions{K: 10, Visible: visible}); err != nil {
			t.Fatal(err)
		}
		for i, got := range dst {
			want := indextest.Exact(o.Metric, queries[i*dim:(i+1)*dim], v, n, dim, visible)[:10]
			hits += indextest.Common(want, got)
			asked += 10
			if len(got) != 10 || slices.ContainsFunc(got, func(x index.Neighbor) bool { return !visible(x.ID) }) {
				t.Fatalf("query %d: %v", i, got)
			}
		}
		recall, floor := float64(hits)/float64(asked), 0.95
		if k := kindOf(t); k == "flat" || k == "flat-int8" {
			floor = 0.999 // ties by rounding
		}
		if recall < floor {
			t.Errorf("recall %.4f, want %.3f", recall, floor)
		}
	})
}

// counted is a context that ends when it has been looked at a number of times.
type counted struct {
	context.Context
	left atomic.Int64
}

func (c *counted) Err() error {
	if c.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func endsAfter(looks int64) *counted {
	c := &counted{Context: context.Background()}
	c.left.Store(looks)
	return c
}

// Every way of search looks at the context from time to time and returns its
// error, and what was appended to stays.
func TestContextEndsSearches(t *testing.T) {
	const dim = textDim
	v := textVectors()
	forText(t, func(t *testing.T, o index.Options, ix index.Index) {
		even := func(id uint64) bool { return id%2 == 0 }
		few := func(id uint64) bool { return id%500 == 0 }
		five, self := []uint64{5}, make([]float32, 1)
		if err := ix.Scores(self, v[5*dim:6*dim], five); err != nil {
			t.Fatal(err)
		}
		for name, so := range map[string]index.SearchOptions{"graph": {K: 10, Ef: 300}, "all": {K: 600, Ef: textN}, "even": {K: 10, Ef: 300, Allow: even}, "few": {K: 10, Allow: few}} {
			looks := endsAfter(1 << 40)
			so.Ctx = looks
			want := indextest.Search(t, ix, v[:dim], so)
			used := 1<<40 - looks.left.Load()
			if used < 3 {
				t.Errorf("%s: looked at the context %d times", name, used)
			}
			for left := int64(0); left < used; left += 1 + used/5 {
				so.Ctx = endsAfter(left)
				got, err := ix.Search([]index.Neighbor{{ID: 5}}, v[:dim], so)
				if !errors.Is(err, context.DeadlineExceeded) || len(got) != 1 || got[0].ID != 5 {
					t.Fatalf("%s, look %d of %d: %v, %v", name, left, used, got, err)
				}
				if err := ix.SearchBatch(make([][]index.Neighbor, 4), v[:4*dim], so); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, batch: %v", name, err)
				}
			}
			// What a search leaves that is ended among its last distances is in no answer.
			scores := make([]float32, 1)
			for left := used - 1; left >= max(0, used-3); left-- {
				so.Ctx = endsAfter(left)
				if _, err := ix.Search(nil, v[dim:2*dim], so); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, look %d of %d: %v", name, left, used, err)
				}
				if err := ix.Scores(scores, v[5*dim:6*dim], five); err != nil || scores[0] != self[0] {
					t.Fatalf("%s, after look %d of %d: a vector is %v from itself, want %v, %v", name, left, used, scores[0], self[0], err)
				}
			}
			so.Ctx = t.Context()
			if got := indextest.Search(t, ix, v[:dim], so); !slices.Equal(got, want) {
				t.Fatalf("%s: %v after searches that were ended, %v before", name, got, want)
			}
		}
		if err := ix.Verify(endsAfter(0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Verify: %v", err)
		}
	})
}

// An Add that is ended leaves whole vectors, some of those it was given.
func TestContextEndsAdd(t *testing.T) {
	const n, dim = 3000, 24
	v := indextest.TextLike(n, dim, 3)
	forAllWith(t, index.Options{Dim: dim, M: 8, EfConstruction: 60}, func(t *testing.T, o index.Options, ix index.Index) {
		k := ix
		indextest.Add(t, ix, indextest.IDs(100, 0), v[:100*dim])
		for left := int64(0); left < 30; left += 14 {
			before := ix.Len()
			if err := k.AddContext(endsAfter(left), indextest.IDs(n, 0), v); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%d looks: %v", left, err)
			}
			if left == 0 && ix.Len() != before {
				t.Fatalf("%d vectors after nothing was added to %d", ix.Len(), before)
			}
			indextest.Verify(t, ix)
			for id := range k.IDs {
				if id%8 > 0 {
					continue
				}
				if got := indextest.Search(t, ix, v[id*dim:(id+1)*dim], index.SearchOptions{K: 1, Ef: n}); indextest.Distance(o.Metric, v[id*dim:(id+1)*dim], v[got[0].ID*dim:(got[0].ID+1)*dim]) > float64(got[0].Distance)+1e-4 {
					t.Fatalf("id %d: %v", id, got)
				}
			}
		}
		if err := k.AddContext(t.Context(), indextest.IDs(n, 0), v); err != nil || ix.Len() != n {
			t.Fatalf("%d vectors, %v", ix.Len(), err)
		}
	})
}

// Searches beside a writer give the right answers of a set that stays, as an
// engine asks for them: what comes and goes is not visible.
func TestVisibleSetBesideAWriter(t *testing.T) {
	const n, stay, dim = 1000, 600, 16
	v := indextest.TextLike(n, dim, 5)
	forAllWith(t, index.Options{Dim: dim, M: 8, EfConstruction: 40}, func(t *testing.T, o index.Options, ix index.Index) {
		if testing.Short() && o.Metric == index.L2 {
			t.Skip("NOT TESTED with -short: searches beside writes by the metric L2 (the other two are); run without -short")
		}
		indextest.Add(t, ix, indextest.IDs(stay, 0), v[:stay*dim])
		visible := func(id uint64) bool { return id < stay }
		queries := make([][]index.Neighbor, 12)
		for i := range queries {
			queries[i] = indextest.Exact(o.Metric, v[i*7*dim:(i*7+1)*dim], v, stay, dim, nil)[:10]
		}
		stop := make(chan struct{})
		var writer, readers sync.WaitGroup
		writer.Go(func() {
			r := rand.New(rand.NewPCG(1, 5))
			for range 3 {
				m := 200 + r.IntN(n-stay-200)
				if err := ix.Add(indextest.IDs(m, stay), v[stay*dim:(stay+m)*dim]); err != nil {
					t.Error(err)
				}
				ix.Delete(indextest.IDs(m/2, stay))
				save(t, ix)
				ix.Delete(indextest.IDs(m, stay))
			}
		})
		hits, asked := 0, 0
		var mu sync.Mutex
		for g := range 2 {
			readers.Go(func() {
				h, a := 0, 0
				for i := g; ; i++ {
					select {
					case <-stop:
						mu.Lock()
						hits, asked = hits+h, asked+a
						mu.Unlock()
						return
					default:
					}
					j := i % len(queries)
					so := index.SearchOptions{K: 10, Ef: 64, Visible: visible}
					if i%3 == 0 {
						so.Ef = n // every vector is compared with
					}
					got, err := ix.Search(nil, v[j*7*dim:(j*7+1)*dim], so)
					if err != nil || len(got) != 10 {
						t.Errorf("%d rows, %v", len(got), err)
						return
					}
					same := 0
					for r, x := range got {
						if !visible(x.ID) {
							t.Errorf("%d is there", x.ID)
							return
						}
						if d := queries[j][r].Distance; x.Distance <= d+1e-4*(1+max(d, -d)) {
							same++
						}
					}
					h, a = h+same, a+10
					if so.Ef == n && same < 10 {
						t.Errorf("an exact search missed %d of 10", 10-same)
						return
					}
					ix.Vector(uint64(i%n), nil)
				}
			})
		}
		writer.Wait()
		time.Sleep(10 * time.Millisecond)
		close(stop)
		readers.Wait()
		if recall := float64(hits) / float64(asked); recall < 0.97 {
			t.Errorf("recall %.3f of %d", recall, asked)
		}
	})
}

// Deleting much from a flat index takes time in proportion, and gives memory
// back.
func TestFlatGivesMemoryBack(t *testing.T) {
	const n, dim = 60_000, 8
	v := indextest.Gauss(n, dim, 1)
	for _, kind := range []string{"flat", "flat-int8"} {
		ix, err := index.New(kind, index.Options{Dim: dim})
		if err != nil {
			t.Fatal(err)
		}
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		full := ix.Bytes()
		if full.Vectors < n*dim*4 || full.Vectors > n*dim*4*5/4 || kind == "flat-int8" && full.Codes < n*(dim+4) || full.Graph != 0 {
			t.Errorf("%s: %+v for %d vectors", kind, full, n)
		}
		var gone []uint64
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n)[:n*9/10] {
			gone = append(gone, uint64(i))
		}
		for len(gone) > 0 {
			m := min(9000, len(gone))
			if ix.Delete(gone[:m]) != m {
				t.Fatal("not all were there")
			}
			gone = gone[m:]
			indextest.Verify(t, ix)
		}
		if left := ix.Bytes(); left.Vectors > full.Vectors/4 {
			t.Errorf("%s: %d bytes of vectors, %d after nine tenths were deleted", kind, full.Vectors, left.Vectors)
		}
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		indextest.Verify(t, ix)
	}
}

// Whatever a writer does to the places of ids between the begin of a search and the filter's list, the search finds
// what is listed, at its place in the search's view, and nothing else.
func TestListedIDsThatMoveMeanwhile(t *testing.T) {
	const n, dim, moved = 600, 8, 120
	v, listed := indextest.Gauss(n, dim, 5), indextest.IDs(9, 100)
	allow := func(id uint64) bool { return slices.Contains(listed, id) }
	want := indextest.Exact(index.Dot, v[:dim], v, n, dim, allow)
	for _, kind := range []string{index.KindFlat, index.KindFlatInt8} {
		for turns := range 40 {
			ix, err := index.New(kind, index.Options{Dim: dim, Metric: index.Dot})
			if err != nil {
				t.Fatal(err)
			}
			indextest.Add(t, ix, indextest.IDs(n, 0), v)
			among := func(yield func(uint64) bool) {
				for range turns {
					indextest.Add(t, ix, indextest.IDs(moved, 0), v[:moved*dim])
				}
				slices.Values(listed)(yield)
			}
			got := indextest.Search(t, ix, v[:dim], index.SearchOptions{K: 20, Allow: allow, Among: among, Allowed: len(listed)})
			if len(got) != len(want) || indextest.Common(got, want) != len(want) {
				t.Errorf("%s, %d turns: %v, want %v", kind, turns, got, want)
			}
		}
	}
}
