package index_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// saved is an index in a file of its own, mapped where the system can.
func saved(t testing.TB, ix index.Index) (mark index.Mark, f *snapshot.File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "vectors.snap")
	f, err := snapshot.WriteOpen(path, snapshot.Header{Kind: "vectors", Version: 1}, func(w *snapshot.Writer) (err error) {
		mark, err = ix.SaveMarked(w)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return mark, f, path
}

// forEach is forAllWith for each kind and one of the metrics.
func forEach(t *testing.T, o index.Options, f func(t *testing.T, o index.Options, ix index.Index)) {
	metrics := index.Metrics()
	for i, kind := range index.Kinds() {
		o := o
		o.Metric, o.Seed, o.Workers = metrics[i%len(metrics)], 7, 2
		t.Run(kind+"/"+o.Metric, func(t *testing.T) {
			ix, err := index.New(kind, o)
			if err != nil {
				t.Fatal(err)
			}
			f(t, o, ix)
			indextest.Verify(t, ix)
		})
	}
}

// remap has ix go over to a file, and closes the one before once ix has let go of it.
func remap(t testing.TB, ix index.Index, m index.Mark, f, before *snapshot.File) {
	t.Helper()
	called := 0
	if err := ix.Remap(m, f, func() { called++ }); err != nil {
		t.Fatal(err)
	}
	if called != 1 {
		t.Fatalf("retired was called %d times where nobody searches", called)
	}
	if before != nil {
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// told is all that an index tells: hits of each way to search, distances and vectors, by bits.
func told(t *testing.T, ix index.Index, queries []float32) (all []uint64) {
	t.Helper()
	dim := ix.Dim()
	known := listed(ix)
	scores := make([]float32, len(known))
	for i := range len(queries) / dim {
		q := queries[i*dim : (i+1)*dim]
		for _, o := range []index.SearchOptions{{K: 10, Ef: 10}, {K: 300}, {K: 9, Allow: func(id uint64) bool { return id%7 == 0 }}, {K: 9, Visible: func(id uint64) bool { return id%9 != 0 }}} {
			for _, n := range indextest.Search(t, ix, q, o) {
				all = append(all, n.ID, uint64(math.Float32bits(n.Distance)))
			}
		}
		if err := ix.Scores(scores, q, known); err != nil {
			t.Fatal(err)
		}
		for _, s := range scores {
			all = append(all, uint64(math.Float32bits(s)))
		}
	}
	dst := make([][]index.Neighbor, len(queries)/dim)
	if err := ix.SearchBatch(dst, queries, index.SearchOptions{K: 20}); err != nil {
		t.Fatal(err)
	}
	for _, hits := range dst {
		for _, n := range hits {
			all = append(all, n.ID, uint64(math.Float32bits(n.Distance)))
		}
	}
	var space []float32
	for _, id := range known {
		own := ix.Vector(id, nil)
		for _, x := range own {
			all = append(all, uint64(math.Float32bits(x)))
		}
		if !slices.Equal(ix.Vector(id, &space), own) {
			t.Fatalf("vector %d: %v, not %v", id, space, own)
		}
	}
	return all
}

// An index tells the same before and after it has gone over to its file, whatever has
// changed since that was written, and works on; of the file before it needs nothing.
func TestRemap(t *testing.T) {
	const n, dim = 4200, 6 // chunks of 1,024
	v, more, queries := indextest.TextLike(n, dim, 3), indextest.TextLike(n, dim, 4), indextest.TextLikeQueries(4, dim, 3)
	least := []int{1, 0, 0, 1, 1, 1} // chunks whose vectors lie in the file, by round
	forEach(t, index.Options{Dim: dim, M: 4, EfConstruction: 16, Tail: 300}, func(t *testing.T, o index.Options, ix index.Index) {
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		ix.Delete(indextest.IDs(300, 100)) // no quarter of a chunk
		ix.Delete(indextest.IDs(900, 1500))
		fresh := uint64(10_000)
		var before *snapshot.File
		for round := range 6 {
			m, f, _ := saved(t, ix)
			at := 40 * round
			switch round {
			case 1: // of what was saved, some goes, some gets other vectors, and slots are used again
				ix.Delete(indextest.IDs(60, 500))
				indextest.Add(t, ix, indextest.IDs(30, 700), more[:30*dim])
				indextest.Add(t, ix, indextest.IDs(100, fresh), more[at*dim:(at+100)*dim])
			case 2: // new chunks, and old ones that are given up and filled again
				ix.Delete(indextest.IDs(600, 3200))
				indextest.Add(t, ix, indextest.IDs(1300, fresh+1000), more[:1300*dim])
				ix.Delete(indextest.IDs(900, fresh+1000))
			case 3, 4, 5: // opened from a file, and changed at its end alone, or beside the graph, or not at all
				ix = openFile(t, kindOf(t), o, f)
				before = f
				switch round {
				case 3:
					ix.Delete(listed(ix)[ix.Len()-40:])
				case 4:
					indextest.Add(t, ix, indextest.IDs(10, fresh+5000), more[:10*dim])
				}
				m, f, _ = saved(t, ix)
			}
			want := told(t, ix, queries)
			remap(t, ix, m, f, before)
			before = f
			if got := told(t, ix, queries); !slices.Equal(got, want) {
				t.Fatalf("round %d: the index tells something else than before", round)
			}
			f.Aside(true)
			if got := told(t, ix, queries); !slices.Equal(got, want) {
				t.Fatalf("round %d: the index tells something else where vectors are read aside", round)
			}
			var space []float32
			for _, id := range listed(ix) {
				ix.Vector(id, &space)
			}
			if least[round] > 0 && space == nil {
				t.Errorf("round %d: no vector is read into the given space", round)
			}
			f.Aside(round%2 == 0)
			indextest.Verify(t, ix)
			rows, codes := index.Lie(ix)
			if rows < least[round] || round < 3 && codes > 0 || round == 3 && codes != 0 && codes != rows {
				t.Errorf("round %d: vectors of %d chunks lie in the file and codes of %d", round, rows, codes)
			}
			// What comes later is written to memory, not to the file.
			ix.Delete(indextest.IDs(20, uint64(900+20*round)))
			indextest.Add(t, ix, indextest.IDs(50, fresh), more[at*dim:(at+50)*dim])
			fresh += 50
			if err := f.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
			indextest.Verify(t, ix)
			if again := open(t, kindOf(t), o, save(t, ix)); !slices.Equal(told(t, again, queries[:dim]), told(t, ix, queries[:dim])) {
				t.Fatal("what is saved next is another index")
			}
		}
		if err := before.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, f, _ := saved(t, ix)
		remap(t, ix, m, f, before)
		t.Cleanup(func() { f.Close() })
	})
}

func openFile(t testing.TB, kind string, o index.Options, f *snapshot.File) index.Index {
	t.Helper()
	ix, err := index.Open(kind, o, f)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// A search that began before keeps what it has until it ends.
func TestRemapWaitsForSearches(t *testing.T) {
	const n, dim = 1500, 6
	v := indextest.TextLike(n, dim, 3)
	forEach(t, index.Options{Dim: dim, M: 4, EfConstruction: 16}, func(t *testing.T, o index.Options, ix index.Index) {
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		_, first, _ := saved(t, ix)
		ix = openFile(t, kindOf(t), o, first)
		ix.Delete([]uint64{3})
		m, f, _ := saved(t, ix)
		defer f.Close()
		want := indextest.Search(t, ix, v[:dim], index.SearchOptions{K: 5})
		var retired atomic.Bool
		var once sync.Once
		got := indextest.Search(t, ix, v[:dim], index.SearchOptions{K: 5, Visible: func(uint64) bool {
			once.Do(func() {
				if err := ix.Remap(m, f, func() {
					retired.Store(true)
					if err := first.Close(); err != nil {
						t.Error(err)
					}
				}); err != nil {
					t.Error(err)
				}
				if retired.Load() {
					t.Error("the memory of a search is given up while it runs")
				}
			})
			return true
		}})
		if !retired.Load() || !slices.Equal(got, want) {
			t.Errorf("retired: %v; %v, want %v", retired.Load(), got, want)
		}
	})
}

// Of vectors beside the graph that were deleted meanwhile, too: these are not in the file.
func TestRemapKeepsTheTailOfASearch(t *testing.T) {
	const n, tail, dim, gone = 2100, 1050, 6, 1500 // in a whole chunk
	v := indextest.TextLike(n, dim, 3)
	ix, err := index.New(index.KindHNSW, index.Options{Dim: dim, M: 4, EfConstruction: 16, Tail: tail})
	if err != nil {
		t.Fatal(err)
	}
	indextest.Add(t, ix, indextest.IDs(n, 0), v)
	if left := ix.(index.Linker).Unlinked(); left != tail {
		t.Fatalf("%d vectors are beside the graph, want %d", left, tail)
	}
	q := v[gone*dim : (gone+1)*dim]
	want := indextest.Search(t, ix, q, index.SearchOptions{K: 3, Ef: 10})
	var once sync.Once
	got := indextest.Search(t, ix, q, index.SearchOptions{K: 3, Ef: 10, Allow: func(uint64) bool {
		once.Do(func() { // before the walk begins
			ix.Delete([]uint64{gone})
			m, f, _ := saved(t, ix)
			t.Cleanup(func() { f.Close() })
			if err := ix.Remap(m, f, nil); err != nil {
				t.Error(err)
			}
		})
		return true
	}})
	if want[0].ID != gone || !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if rows, _ := index.Lie(ix); rows != 2 {
		t.Errorf("vectors of %d chunks lie in the file, want 2", rows)
	}
}

// An index goes over to file after file, each given up when nobody needs it, beside
// searches, changes, and other saves.
func TestRemapBesideAll(t *testing.T) {
	const stay, dim = 2300, 6
	v, more := indextest.TextLike(stay, dim, 3), indextest.TextLike(stay, dim, 4)
	for _, kind := range index.Kinds() {
		t.Run(kind, func(t *testing.T) {
			ix, err := index.New(kind, index.Options{Dim: dim, M: 4, EfConstruction: 16, Tail: 64, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			indextest.Add(t, ix, indextest.IDs(stay, 0), v)
			stays := func(id uint64) bool { return id < stay }
			want := make([]float32, stay)
			if err := ix.Scores(want, v[:dim], indextest.IDs(stay, 0)); err != nil {
				t.Fatal(err)
			}
			exact := indextest.Search(t, ix, v[:dim], index.SearchOptions{K: 40, Allow: stays})
			var stop atomic.Bool
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					got := make([]float32, stay)
					for !stop.Load() {
						if err := ix.Scores(got, v[:dim], indextest.IDs(stay, 0)); err != nil || !slices.Equal(got, want) {
							t.Errorf("distances differ: %v", err)
							return
						}
						hits, err := ix.Search(nil, v[:dim], index.SearchOptions{K: 40, Allow: stays})
						if err != nil || (kind == "flat" || kind == "flat-int8") && !slices.Equal(hits, exact) {
							t.Errorf("%v: %v, want %v", err, hits, exact)
							return
						}
						for _, h := range hits {
							if h.Distance != want[h.ID] {
								t.Errorf("%v, want distance %v", h, want[h.ID])
								return
							}
						}
					}
				})
			}
			wg.Go(func() {
				for i := uint64(0); !stop.Load(); i++ {
					at := int(i%20) * 100
					if err := ix.Add(indextest.IDs(100, 10_000+100*(i%5)), more[at*dim:(at+100)*dim]); err != nil {
						t.Error(err)
						return
					}
					ix.Delete(indextest.IDs(70, 10_000+100*((i+3)%5)))
				}
			})
			var before *snapshot.File
			closed := make(chan error, 16)
			for range 4 {
				m, f, _ := saved(t, ix)
				gone := before
				if err := ix.Remap(m, f, func() {
					if gone != nil {
						closed <- gone.Close()
					}
				}); err != nil {
					t.Fatal(err)
				}
				before = f
			}
			stop.Store(true)
			wg.Wait()
			for range 3 {
				if err := <-closed; err != nil {
					t.Error(err)
				}
			}
			if rows, _ := index.Lie(ix); rows == 0 {
				t.Error("no vectors lie in the file")
			}
			indextest.Verify(t, ix)
			if err := before.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a mark is not of is refused, and damage of the file found as after Open.
func TestRemapRefusals(t *testing.T) {
	const n, dim = 2100, 40
	v := indextest.TextLike(n, dim, 3)
	for _, kind := range index.Kinds() {
		o := index.Options{Dim: dim, M: 4, EfConstruction: 16}
		ix, err := index.New(kind, o)
		if err != nil {
			t.Fatal(err)
		}
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		other, _ := index.New(kind, o)
		indextest.Add(t, other, indextest.IDs(2, 0), v[:2*dim])
		m, f, path := saved(t, ix)
		defer f.Close()
		mo, fo, _ := saved(t, other)
		defer fo.Close()
		none := func() { t.Errorf("%s: retired although Remap has failed", kind) }
		for what, err := range map[string]error{
			"no mark":             ix.Remap(index.Mark{}, f, none),
			"a mark of another":   ix.Remap(mo, fo, none),
			"the file of another": ix.Remap(m, fo, none),
		} {
			if !errors.Is(err, index.ErrMismatch) {
				t.Errorf("%s: %s: %v", kind, what, err)
			}
		}
		want := indextest.Search(t, ix, v[:dim], index.SearchOptions{K: 10})
		remap(t, ix, m, f, nil)
		if !snapshot.Maps {
			continue
		}
		if err := os.Truncate(path, 8192); err != nil {
			t.Fatal(err)
		}
		hits, err := ix.Search(nil, v[:dim], index.SearchOptions{K: n})
		if !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: a file that was cut off: %v, %v", kind, hits, err)
		}
		if hits, err := ix.Search(nil, v[:dim], index.SearchOptions{K: 10}); err == nil && !slices.Equal(hits, want) {
			t.Errorf("%s: %v, want %v or an error", kind, hits, want)
		}
		if err := ix.Verify(t.Context()); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: Verify: %v", kind, err)
		}
		if err := ix.Save(snapshot.NewWriter(io.Discard, snapshot.Header{Kind: "x"})); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: Save: %v", kind, err)
		}
	}
}

// Vectors that are replaced here and there leave most of a graph in its file, and a quarter of the slots vacant at most,
// beside the chunk that is being filled.
func TestReplacementsLeaveTheFile(t *testing.T) {
	if !snapshot.Maps {
		t.Skip("nothing is mapped here")
	}
	const chunk, dim = 1024, 4
	const n, each = 12 * chunk, 800 // less than a chunk
	v, more := indextest.TextLike(n, dim, 3), indextest.TextLike(each, dim, 4)
	rng := rand.New(rand.NewPCG(1, 2))
	ix, err := index.New(index.KindHNSWInt8, index.Options{Dim: dim, M: 4, EfConstruction: 16})
	if err != nil {
		t.Fatal(err)
	}
	indextest.Add(t, ix, indextest.IDs(n, 0), v)
	stored := indextest.IDs(n, 0)
	var before *snapshot.File
	for round := range 15 {
		m, f, _ := saved(t, ix)
		t.Cleanup(func() { f.Close() })
		remap(t, ix, m, f, before)
		before = f
		all, _ := index.Lie(ix)
		for i := range each { // some get another vector, the others go, and others come
			at := rng.IntN(n)
			if i%2 == 0 {
				ix.Delete(stored[at : at+1])
				stored[at] = uint64(n*(round+1) + i)
			}
			indextest.Add(t, ix, stored[at:at+1], more[i*dim:(i+1)*dim])
		}
		rows, _ := index.Lie(ix)
		if got, want := ix.Unmapped(), int(ix.Bytes().Vectors/(dim*4))-rows*chunk; got != want {
			t.Errorf("round %d: %d vectors are not in the file, want %d", round, got, want)
		}
		if rows*5 < all*4 {
			t.Errorf("round %d: after %d replacements %d of %d chunks lie in the file", round, each, rows, all)
		}
	}
	indextest.Verify(t, ix)
	if got, most := ix.Bytes().Vectors, int64((n+n/3+2*chunk)*dim*4); got > most {
		t.Errorf("vectors take %d bytes, want %d at most", got, most)
	}
}
