package index

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

// flatQueries is the number of queries that share one pass over the vectors: a
// block of scores [256×1024] is 1 MiB and stays in the L2 cache.
const flatQueries = 256

// SearchBatch multiplies blocks of queries with chunks of vectors if the metric is a
// function of the inner product, so the vectors are read once for flatQueries queries.
// With a filter, or under another metric, it runs single searches.
func (f *flat) SearchBatch(dst [][]Neighbor, queries []float32, o SearchOptions) error {
	if o.K < 1 {
		return fmt.Errorf("k is %d: %w", o.K, errBadK)
	}
	if err := f.m.checkRows(len(dst), queries, f.o.Dim); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	dim, n := f.o.Dim, len(dst)
	if f.m.fromDot == nil || o.Allow != nil || n < 4 {
		return f.searchEach(f, dst, queries, o)
	}
	workers := int(f.workers.Load())
	block := min(flatQueries, (n+workers-1)/workers)
	r := f.views.Acquire()
	defer r.Release()
	out, errs := make([][]Neighbor, n), make([]error, (n+block-1)/block)
	parallel(workers, len(errs), func(i int) {
		from, to := i*block, min(n, (i+1)*block)
		for j := from; j < to; j++ {
			out[j] = dst[j][:0]
		}
		errs[i] = guarded(func() error { return f.searchBlock(r.Value, out[from:to], queries[from*dim:to*dim], o) })
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	copy(dst, out)
	return nil
}

type batchScratch struct {
	q, scores []float32
	tops      []topK
}

var batchPool = sync.Pool{New: func() any { return &batchScratch{} }}

// searchBlock answers a block of queries in v, appending to dst.
func (f *flat) searchBlock(v *view, dst [][]Neighbor, queries []float32, o SearchOptions) error {
	s := batchPool.Get().(*batchScratch)
	defer batchPool.Put(s)
	dim, n, size := f.o.Dim, len(dst), 1<<v.mem.rows.bits
	s.q, s.scores, s.tops = vec.Grown(s.q, n*dim), vec.Grown(s.scores, n*size), s.tops[:0]
	defer func() { clear(s.tops) }() // the heaps belong to the caller
	for i := range n {
		f.m.put(s.q[i*dim:(i+1)*dim], queries[i*dim:(i+1)*dim])
		s.tops = append(s.tops, topK{heap: dst[i], k: min(o.K, v.live)})
	}
	for from := 0; from < v.n; from += size {
		if err := o.done(); err != nil {
			return err
		}
		rows := v.end(from, size) - from
		if rows == 0 {
			continue
		}
		if err := v.mem.rows.check(from / size); err != nil {
			return err
		}
		scores := s.scores[:n*rows]
		vec.MatMulNT(scores, s.q, v.mem.rows.run(from, rows), n, rows, dim)
		f.m.fromDot(scores)
		whole, ids := o.Visible == nil && v.whole(from, rows), v.mem.ids.run(from, rows)
		for i := range n {
			scores := scores[i*rows : (i+1)*rows]
			if whole {
				s.tops[i].pushAll(ids, scores)
				continue
			}
			t := &s.tops[i]
			for j, d := range scores {
				if t.full() && d > t.heap[0].Distance || !v.has(uint32(from+j)) || o.Visible != nil && !o.Visible(ids[j]) {
					continue
				}
				t.push(Neighbor{ids[j], d})
			}
		}
	}
	for i := range n {
		dst[i] = s.tops[i].heap
		order(dst[i])
	}
	return nil
}

// searchEach implements SearchBatch by single searches. All arguments must be checked
// already.
func (b *base) searchEach(ix Index, dst [][]Neighbor, queries []float32, o SearchOptions) error {
	dim := b.o.Dim
	errs := make([]error, len(dst))
	out := make([][]Neighbor, len(dst))
	b.parallel(len(dst), func(i int) {
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
