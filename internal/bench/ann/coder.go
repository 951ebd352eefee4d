//go:build !windows

package ann

import (
	"math"
	"math/rand"
	"slices"
	"sync/atomic"

	"github.com/coder/hnsw"

	"github.com/lexsem/lexsem/index"
)

// The baseline coder is github.com/coder/hnsw. The library panics after deletes. The wrapper catches
// and counts the panics. It also sorts the hits and computes their distances, which the library does
// not return.
var _ = registerBaseline("coder", indexKind{
	make: func(dim int, o Options) (measured, error) {
		g := hnsw.NewGraph[uint64]()
		g.M = o.M
		g.Rng = rand.New(rand.NewSource(int64(o.Seed)))
		return &coderIndex{g: g, dim: dim}, nil
	},
})

// coderIndex wraps a coder/hnsw graph. Only searches may run at the same time.
type coderIndex struct {
	g   *hnsw.Graph[uint64]
	dim int
	len atomic.Int64
}

// caught runs f and turns a panic into a *panicError.
func caught(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{1, r}
		}
	}()
	f()
	return nil
}

// setEf sets the candidate pool of later searches.
func (c *coderIndex) setEf(ef int) { c.g.EfSearch = ef }

// Add adds each vector in a separate call. Each vector is copied, since the library keeps the slice.
func (c *coderIndex) Add(ids []uint64, vectors []float32) error {
	if len(vectors) != len(ids)*c.dim {
		return &index.DimensionError{Got: len(vectors), Want: len(ids) * c.dim}
	}
	var failed panicError
	for i, id := range ids {
		v := slices.Clone(vectors[i*c.dim : (i+1)*c.dim])
		if err := caught(func() { c.g.Add(hnsw.MakeNode(id, v)) }); err != nil {
			failed.count++
			if failed.first == nil {
				failed.first = err.(*panicError).first
			}
			continue
		}
		c.len.Add(1)
	}
	if failed.count > 0 {
		return &failed
	}
	return nil
}

// tryDelete deletes one vector; the error is a *panicError.
func (c *coderIndex) tryDelete(id uint64) error {
	return caught(func() {
		if c.g.Delete(id) {
			c.len.Add(-1)
		}
	})
}

// Delete returns the number of vectors that were deleted without a panic.
func (c *coderIndex) Delete(ids []uint64) int {
	before := c.len.Load()
	for _, id := range ids {
		c.tryDelete(id) // a panic leaves the length as it was
	}
	return int(before - c.len.Load())
}

// Search searches the graph and sorts the hits. Its error is a *panicError.
func (c *coderIndex) Search(dst []index.Neighbor, q []float32, o index.SearchOptions) ([]index.Neighbor, error) {
	base := len(dst)
	err := caught(func() {
		for _, n := range c.g.Search(q, o.K) {
			dst = append(dst, index.Neighbor{ID: n.Key, Distance: hnsw.CosineDistance(q, n.Value)})
		}
	})
	if err != nil {
		return dst[:base], err
	}
	slices.SortFunc(dst[base:], func(a, b index.Neighbor) int {
		switch {
		case a.Distance != b.Distance && a.Distance < b.Distance:
			return -1
		case a.Distance != b.Distance:
			return 1
		case a.ID < b.ID:
			return -1
		}
		return 1
	})
	return dst, nil
}

// Scores looks the vectors up and computes the distances.
func (c *coderIndex) Scores(dst []float32, q []float32, ids []uint64) error {
	for i, id := range ids {
		dst[i] = float32(math.NaN())
		if v, ok := c.g.Lookup(id); ok {
			dst[i] = hnsw.CosineDistance(q, v)
		}
	}
	return nil
}

// Len is the number of added vectors minus the number of deleted ones.
func (c *coderIndex) Len() int { return int(c.len.Load()) }
