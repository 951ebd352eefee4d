package index_test

import (
	"errors"
	"math"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/indextest"
)

func TestRange(t *testing.T) {
	const n, dim = 6000, 24
	v := indextest.TextLike(n, dim, 3)
	queries := indextest.TextLikeQueries(12, dim, 3)
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		within := ix.(index.RangeSearcher).SearchRange
		if got, err := within(nil, v[:dim], 1, index.SearchOptions{}); err != nil || len(got) != 0 {
			t.Fatalf("in nothing: %v, %v", got, err)
		}
		add(t, ix, ids(n, 0), v)
		ix.Delete(ids(50, 2000))
		found, asked := 0, 0
		for qi := range 12 {
			q := queries[qi*dim : (qi+1)*dim]
			for _, allow := range []func(uint64) bool{nil, func(id uint64) bool { return id%7 == 3 }} {
				all := exact(o.Metric, q, v, n, dim, func(id uint64) bool { return (id < 2000 || id >= 2050) && (allow == nil || allow(id)) })
				for _, count := range []int{0, 1, 12, 150, len(all)} {
					radius := all[0].Distance - 0.01
					if count > 0 {
						radius = all[count-1].Distance + 1e-5
					}
					want := map[uint64]bool{}
					for _, x := range all {
						if x.Distance <= radius-2e-5 {
							want[x.ID] = true
						}
					}
					got, err := within([]index.Neighbor{{ID: 9}}, q, radius, index.SearchOptions{Allow: allow, Ef: 32})
					if err != nil || got[0].ID != 9 {
						t.Fatal(got, err)
					}
					got = got[1:]
					for i, x := range got {
						if x.Distance > radius || allow != nil && !allow(x.ID) || x.ID >= 2000 && x.ID < 2050 {
							t.Fatalf("%v within %g", x, radius)
						}
						if i > 0 && (got[i-1].Distance > x.Distance || got[i-1].Distance == x.Distance && got[i-1].ID >= x.ID) {
							t.Fatalf("out of order: %v before %v", got[i-1], x)
						}
						if want[x.ID] {
							found++
						}
					}
					asked += len(want)
					few, err := within(nil, q, radius, index.SearchOptions{Allow: allow, Ef: 32, K: 5})
					if err != nil || len(few) != min(5, len(got)) {
						t.Fatalf("%d of %d with K = 5: %v", len(few), len(got), err)
					}
					for i := range few {
						if few[i] != got[i] {
							t.Fatalf("rank %d: %v, want %v", i, few[i], got[i])
						}
					}
				}
			}
		}
		floor := 0.99
		if k := kindOf(t); k == "flat" || k == "flat-int8" {
			floor = 1
		}
		if recall := float64(found) / float64(asked); recall < floor {
			t.Errorf("recall %.4f, want %.2f", recall, floor)
		}
		if _, err := within(nil, v[:dim], float32(math.NaN()), index.SearchOptions{}); !errors.Is(err, index.ErrBadRadius) {
			t.Error(err)
		}
		if _, err := within(nil, v[:dim], 1, index.SearchOptions{K: -1}); !errors.Is(err, index.ErrBadK) {
			t.Error(err)
		}
		var wrong *index.DimensionError
		if _, err := within(nil, v[:3], 1, index.SearchOptions{}); !errors.As(err, &wrong) {
			t.Error(err)
		}
	})
}
