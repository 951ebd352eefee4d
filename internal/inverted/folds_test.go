package inverted_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/inverted"
)

// jaccard is the share of the elements of two sets that both have.
func jaccard(a, b []uint64) float64 {
	both := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

func sets(f *inverted.Folds, all [][]uint64) (firsts []int) {
	for _, s := range all {
		i, ok := f.Find(s)
		if !ok {
			i = f.Add(s)
		}
		firsts = append(firsts, i)
	}
	return firsts
}

// TestFoldsAgainstScan compares with a look at every set, over sets that differ
// by a few elements, most of them about as much as near allows.
func TestFoldsAgainstScan(t *testing.T) {
	near := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		least := []float64{.8, .8, .5, .9, 1, .3}[seed%6]
		universe := uint64(1 + r.IntN(300))
		draw := func(n int) (s []uint64) {
			for range n {
				s = append(s, r.Uint64N(universe)<<r.IntN(2))
			}
			slices.Sort(s)
			return slices.Compact(s)
		}
		var all [][]uint64
		for range 300 {
			if len(all) == 0 || r.IntN(4) == 0 {
				all = append(all, draw(r.IntN(60)))
				continue
			}
			s := slices.Clone(all[r.IntN(len(all))])
			for range r.IntN(1 + len(s)/3) {
				s = slices.Delete(s, 0, 1)
				if r.IntN(2) == 0 {
					s = append(s, draw(1)...)
				}
				r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
			}
			slices.Sort(s)
			all = append(all, slices.Compact(s))
		}
		got := sets(inverted.NewFolds(least), all)
		var kept [][]uint64
		for n, s := range all {
			want := slices.IndexFunc(kept, func(k []uint64) bool { return jaccard(k, s) >= least })
			if want < 0 {
				want = len(kept)
				kept = append(kept, s)
			} else {
				near++
			}
			if got[n] != want {
				t.Fatalf("seed %d, near %v: set %d is %d, want %d", seed, least, n, got[n], want)
			}
		}
	}
	if near < 1000 {
		t.Errorf("only %d sets were near another", near)
	}
}

// TestFoldsAtTheBound: exactly near is near, one element less is not.
func TestFoldsAtTheBound(t *testing.T) {
	count := func(from, to uint64) (s []uint64) {
		for x := from; x < to; x++ {
			s = append(s, x)
		}
		return s
	}
	for _, c := range []struct {
		a, b []uint64
		want bool
	}{
		{count(0, 5), count(0, 4), true},  // 4/5
		{count(0, 4), count(0, 5), true},  // the same
		{count(0, 9), count(1, 10), true}, // 8/10
		{count(0, 8), count(1, 9), false}, // 7/9
		{count(0, 7), count(0, 5), false}, // 5/7
		{count(0, 50), count(10, 50), true},
		{count(0, 50), count(11, 50), false},
		{count(0, 50), count(10, 51), false}, // 40/51
		{count(0, 1), count(0, 1), true},
		{nil, nil, false},
		{count(0, 1), nil, false},
	} {
		f := inverted.NewFolds(.8)
		f.Add(count(100, 130))
		f.Add(c.a)
		if i, ok := f.Find(c.b); ok != c.want || ok && i != 1 {
			t.Errorf("%v and %v: %d, %t", c.a, c.b, i, ok)
		}
	}
}

// scan is what sets does, by a look at every set that is kept.
func scan(least float64, all [][]uint64) (kept [][]uint64) {
	for _, s := range all {
		if !slices.ContainsFunc(kept, func(k []uint64) bool { return merged(k, s) >= least }) {
			kept = append(kept, s)
		}
	}
	return kept
}

// merged is jaccard of ascending sets.
func merged(a, b []uint64) float64 {
	both, n := 0, len(a)+len(b)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			both++
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return float64(both) / float64(n-both)
}

// TestFoldsAreFast: 3,000 sets of 120 elements take a small share of what a scan
// would take, which is 36 times that of 500: sets that are all near the first
// one, that are all different, that have half in common, and nearly as much as
// makes them near.
func TestFoldsAreFast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 10))
	set := func(common int) []uint64 {
		var s []uint64
		for i := range uint64(120) {
			if i < uint64(common) {
				s = append(s, i)
			} else {
				s = append(s, 1<<32+r.Uint64N(1<<32))
			}
		}
		slices.Sort(s)
		return s
	}
	for _, c := range []struct {
		common, kept int
		share        float64
	}{{115, 1, math.Inf(1)}, {0, 3000, .1}, {60, 3000, .1}, {105, 3000, .5}} {
		all := make([][]uint64, 3000)
		for i := range all {
			all[i] = set(c.common)
		}
		share := math.Inf(1)
		for range 12 { // the machine may be busy
			start := time.Now()
			firsts := sets(inverted.NewFolds(.8), all)
			took := time.Since(start)
			if n := slices.Max(firsts) + 1; n != c.kept {
				t.Fatalf("%d in common: %d sets are kept, want %d", c.common, n, c.kept)
			}
			start = time.Now()
			scan(.8, all[:500])
			share = min(share, float64(took)/float64(36*time.Since(start)))
			t.Logf("%d in common: %v, %.3f of a scan", c.common, took, share)
			if share <= c.share {
				break
			}
		}
		if share > c.share {
			t.Errorf("%d in common: %.3f of what a scan takes, want %v", c.common, share, c.share)
		}
	}
}
