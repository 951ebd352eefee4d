package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// CompleteLinkage cuts n items into k clusters by agglomerative clustering with complete linkage: it
// merges the two clusters whose farthest members are nearest, until k are left. distances holds d(i,
// j) for j < i at i·(i−1)/2 + j and is used as working memory. Clusters are numbered by their first
// item. Time is O(n²) by the nearest-neighbour chain (Murtagh 1983). Memory: the n²/2 distances.
func CompleteLinkage(distances []float32, n, k int) ([]int, error) {
	if n < 1 || k < 1 || k > n || len(distances) != n*(n-1)/2 {
		return nil, fmt.Errorf("%w: %d clusters of %d items with %d distances; give 1 to n clusters and n(n−1)/2 distances", ErrSample, k, n, len(distances))
	}
	for _, d := range distances {
		if d != d {
			return nil, fmt.Errorf("%w: a distance is not a number", ErrSample)
		}
	}
	at := func(i, j int) *float32 {
		if i < j {
			i, j = j, i
		}
		return &distances[i*(i-1)/2+j]
	}
	type merge struct {
		a, b   int
		height float32
	}
	merges := make([]merge, 0, n-1)
	alive := make([]int, n) // clusters left, each under the number of one of its items
	for i := range alive {
		alive[i] = i
	}
	var chain []int
	for len(merges) < n-1 {
		if len(chain) == 0 {
			chain = append(chain, alive[0])
		}
		c := chain[len(chain)-1]
		// The nearest other cluster; the one before in the chain wins ties, so
		// that the chain ends.
		best, d := -1, float32(math.Inf(1))
		if len(chain) > 1 {
			best = chain[len(chain)-2]
			d = *at(c, best)
		}
		for _, o := range alive {
			if o == c {
				continue
			}
			if x := *at(c, o); x < d || best < 0 {
				best, d = o, x
			}
		}
		if len(chain) < 2 || best != chain[len(chain)-2] {
			chain = append(chain, best)
			continue
		}
		chain = chain[:len(chain)-2]
		merges = append(merges, merge{c, best, d})
		gone := slices.Index(alive, best)
		alive = slices.Delete(alive, gone, gone+1)
		for _, o := range alive {
			if o != c {
				*at(c, o) = max(*at(c, o), *at(best, o))
			}
		}
	}
	slices.SortStableFunc(merges, func(a, b merge) int { return cmp.Compare(a.height, b.height) })
	root := make([]int, n)
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, m := range merges[:n-k] {
		root[find(m.a)] = find(m.b)
	}
	number := map[int]int{}
	out := make([]int, n)
	for i := range out {
		r := find(i)
		if _, seen := number[r]; !seen {
			number[r] = len(number)
		}
		out[i] = number[r]
	}
	return out, nil
}
