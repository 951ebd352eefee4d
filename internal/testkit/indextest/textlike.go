// Package indextest tests indexes. Start with [Suite]: it tests that an index, of this module or another,
// satisfies the contract of index.Index. [TextLike] and [TextLikeQueries] make vectors with clusters like
// those of texts.
package indextest

import "github.com/lexsem/lexsem/internal/bench/vectors"

// TextLike returns n unit vectors of the given dimension (row-major, n·dim long) of a vectors.Collection with 500
// clusters. Equal arguments give equal vectors, and a longer set begins with the shorter one.
func TextLike(n, dim int, seed uint64) []float32 {
	return collection(dim, seed).Draw(n, vectors.Stored).Data
}

// TextLikeQueries returns n more vectors of the collection of TextLike for the same dimension and
// seed, with the noise of queries. None of them is in the collection.
func TextLikeQueries(n, dim int, seed uint64) []float32 {
	return collection(dim, seed).Another(^seed).Draw(n, vectors.Asked).Data
}

func collection(dim int, seed uint64) *vectors.Collection {
	return vectors.NewCollection(10_000, dim, seed)
}
