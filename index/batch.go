package index

import (
	"sync"
	"sync/atomic"
)

// BatchSearcher is an index that answers many queries at once. Every index of this package is one.
type BatchSearcher interface {
	Index
	// SearchBatch writes the neighbours of query i, row i of queries [len(dst) × Dim], to dst[i]; the
	// previous content of dst[i] is dropped and its memory reused. It uses as many goroutines as the
	// index has workers; o.Allow and o.Visible are called from all of them. Distances may differ from
	// those of Search by rounding. After an error dst is unchanged.
	SearchBatch(dst [][]Neighbor, queries []float32, o SearchOptions) error
}

// parallel calls f(i) for all i < n on the given number of goroutines.
func parallel(workers, n int, f func(i int)) {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
}
