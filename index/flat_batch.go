package index

import (
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// flatQueries is the number of queries that share one pass over the vectors: a
// block of scores [256×1024] is 1 MiB and stays in the L2 cache.
const flatQueries = 256

// SearchBatch multiplies blocks of queries with chunks of vectors where the
// metric is a function of the inner product; the vectors are then read once
// for flatQueries queries. With a filter, or under another metric, it is as
// many single searches.
func (f *flat) SearchBatch(dst [][]Neighbor, queries []float32, o SearchOptions) error {
	if o.K < 1 {
		return fmt.Errorf("k is %d: %w", o.K, ErrBadK)
	}
	if err := f.m.checkRows(len(dst), queries, f.o.Dim); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	dim, n := f.o.Dim, len(dst)
	if f.m.fromDot == nil || o.Allow != nil || n < 4 {
		return searchEach(f, f.o.Workers, dst, queries, o)
	}
	block := min(flatQueries, (n+f.o.Workers-1)/f.o.Workers)
	f.mu.RLock()
	defer f.mu.RUnlock()
	parallel(f.o.Workers, (n+block-1)/block, func(i int) {
		from, to := i*block, min(n, (i+1)*block)
		f.searchBlock(dst[from:to], queries[from*dim:to*dim], o.K)
	})
	return nil
}

type batchScratch struct {
	q, scores []float32
	tops      []topK
}

var batchPool = sync.Pool{New: func() any { return &batchScratch{} }}

// searchBlock answers a block of queries under the caller's read lock.
func (f *flat) searchBlock(dst [][]Neighbor, queries []float32, k int) {
	s := batchPool.Get().(*batchScratch)
	defer batchPool.Put(s)
	dim, n := f.o.Dim, len(dst)
	if need := n * dim; cap(s.q) < need {
		s.q = make([]float32, need)
	}
	if need := n << f.rows.bits; cap(s.scores) < need {
		s.scores = make([]float32, need)
	}
	s.tops = s.tops[:0]
	q := s.q[:n*dim]
	for i := range n {
		f.m.put(q[i*dim:(i+1)*dim], queries[i*dim:(i+1)*dim])
		s.tops = append(s.tops, topK{heap: dst[i][:0], k: min(k, len(f.ids)), radius: infinite})
	}
	for from := 0; from < len(f.ids); {
		chunk, rows := f.rows.run(from, len(f.ids)-from)
		scores := s.scores[:n*rows]
		vec.MatMulNT(scores, q, chunk, n, rows, dim)
		f.m.fromDot(scores)
		for i := range n {
			s.tops[i].pushAll(f.ids[from:from+rows], scores[i*rows:(i+1)*rows])
		}
		from += rows
	}
	for i := range n {
		dst[i] = s.tops[i].heap
		order(dst[i])
	}
	clear(s.tops) // the heaps belong to the caller
}

// searchEach is SearchBatch by single searches. All arguments are checked.
func searchEach(ix Index, workers int, dst [][]Neighbor, queries []float32, o SearchOptions) error {
	dim := ix.Dim()
	errs := make([]error, len(dst))
	out := make([][]Neighbor, len(dst))
	parallel(workers, len(dst), func(i int) {
		out[i], errs[i] = ix.Search(dst[i][:0], queries[i*dim:(i+1)*dim], o)
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
	}
	copy(dst, out)
	return nil
}
