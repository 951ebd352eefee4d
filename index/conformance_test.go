package index_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

func TestSuite(t *testing.T) {
	for _, kind := range index.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			indextest.Suite(t, index.Metrics(), func(o index.Options) (index.Index, error) { return index.New(kind, o) })
		})
	}
}

// TestNarrowFilters: a filter that lists what it lets through is asked about nothing, unless an id of it is gone.
func TestNarrowFilters(t *testing.T) {
	const n, dim = 800, 8
	v := indextest.Gauss(n, dim, 5)
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		listed, asked := []uint64{7, 70, 700}, 0
		options := index.SearchOptions{K: 3, Allow: func(id uint64) bool { asked++; return slices.Contains(listed, id) }, Among: slices.Values(listed), Allowed: len(listed)}
		if indextest.Search(t, ix, v[:dim], options); asked > 0 {
			t.Errorf("asked %d times", asked)
		}
		ix.Delete([]uint64{700})
		if indextest.Search(t, ix, v[:dim], options); asked == 0 {
			t.Error("an id that is gone was not noticed")
		}
		if has := ix.Has; has(700) || !has(7) {
			t.Error("Has")
		}
	})
}

// forAll runs f for each kind and metric that is registered.
func forAll(t *testing.T, dim int, f func(t *testing.T, o index.Options, ix index.Index)) {
	forAllWith(t, index.Options{Dim: dim}, f)
}

func forAllWith(t *testing.T, o index.Options, f func(t *testing.T, o index.Options, ix index.Index)) {
	for _, kind := range index.Kinds() {
		for _, metric := range index.Metrics() {
			t.Run(kind+"/"+metric, func(t *testing.T) {
				o := o
				o.Metric, o.Seed, o.Workers = metric, 7, 2
				ix, err := index.New(kind, o)
				if err != nil {
					t.Fatal(err)
				}
				f(t, o, ix)
				indextest.Verify(t, ix)
			})
		}
	}
}

func TestOptions(t *testing.T) {
	if _, err := index.New("nosuch", index.Options{Dim: 3}); !errors.Is(err, index.ErrOptions) {
		t.Error(err)
	}
	if _, err := index.New("flat", index.Options{Dim: 3, Metric: "nosuch"}); !errors.Is(err, index.ErrOptions) {
		t.Error(err)
	}
	_, err := index.New("flat", index.Options{Metric: "nosuch", M: 1, Ef: -1, EfConstruction: -5, Workers: -2})
	if !errors.Is(err, index.ErrOptions) {
		t.Error(err)
	}
	for _, name := range []string{"Dim", "M ", "Ef ", "EfConstruction", "Workers", "nosuch"} {
		if !bytes.Contains([]byte(fmt.Sprint(err)), []byte(name)) {
			t.Errorf("%q is not named in: %v", name, err)
		}
	}
	for _, kind := range index.Kinds() {
		if _, err := index.New(kind, index.Options{Dim: 1}); err != nil {
			t.Error(err)
		}
	}
}

func TestSearchAllocatesNothing(t *testing.T) {
	const dim = textDim
	v := textVectors()
	forText(t, func(t *testing.T, o index.Options, ix index.Index) {
		dst := make([]index.Neighbor, 0, 64)
		even := func(id uint64) bool { return id%2 == 0 }
		few := func(id uint64) bool { return id%500 == 0 }
		listed := slices.Values([]uint64{0, 500, 1000, 1500, 2000})
		for name, so := range map[string]index.SearchOptions{
			"graph": {K: 10, Ef: 20}, "all": {K: 50, Ef: textN}, "even": {K: 10, Ef: 10, Allow: even},
			"few": {K: 10, Allow: few}, "listed": {K: 10, Allow: few, Among: listed, Allowed: 5},
		} {
			if a := testing.AllocsPerRun(50, func() { dst, _ = ix.Search(dst[:0], v[:dim], so) }); a >= 1 {
				t.Errorf("%s: %g allocations per search", name, a)
			}
		}
	})
}
