// Package index finds the nearest of many vectors: by a scan, which is exact (flat,
// flat-int8), or by a graph, which is nearly so (hnsw, hnsw-int8,
// hnsw-fast, hnsw-compact).
//
// An index changes in place, by one writer at a time. A search holds a view of
// what is live, which never changes; a slot is used again once no search holds a
// view in which it was live. What a search may see beyond that, SearchOptions
// say. Save writes an index into a snapshot, and Open uses it where it lies.
package index

import "context"

// Neighbor is one answer of a search: lower distances are nearer.
type Neighbor struct {
	ID       uint64
	Distance float32
}

// SearchOptions shape one search.
type SearchOptions struct {
	// K is the number of neighbours wanted, at least 1.
	K int
	// Ef is the size of the candidate pool of approximate indexes; 0 means the
	// index's default, values below K are raised to K. Exact indexes ignore it.
	Ef int
	// Allow, if not nil, says which ids may be returned. It is called from the
	// searching goroutine, possibly several times per id, and must be fast.
	Allow func(id uint64) bool
	// Among, if not nil, calls yield with the ids that Allow lets through, each once,
	// until it returns false, and Allowed is about how many they are. A search takes these
	// where that costs less than asking Allow about every id, so a narrow filter
	// costs what it lets through. Without Allow it is not looked at.
	Among   func(yield func(id uint64) bool)
	Allowed int
	// Visible, if not nil, says which ids exist for this search. It is meant to
	// be true of nearly all: it is asked only about ids that come near the
	// answer, and it does not choose the way of search as Allow does. An id that
	// is not visible is as if it were absent; a graph still leads through it.
	Visible func(id uint64) bool
	// Ctx, if not nil, ends the search: its error is returned within about a
	// millisecond of work after it is done.
	Ctx context.Context
}

// done is the error of the context.
func (o *SearchOptions) done() error {
	if o.Ctx == nil {
		return nil
	}
	return o.Ctx.Err()
}

// Index finds the nearest of many vectors of one dimension. Implementations
// are safe for concurrent use; a search sees each Add and Delete wholly or not
// at all per vector, and waits for neither. They copy what they are given.
type Index interface {
	// Add stores len(ids) vectors, row-major in vectors (len(ids)·Dim long).
	// An id that is present already gets the new vector. Vectors of a wrong
	// total length (*DimensionError), with NaN or an infinity (ErrNotFinite)
	// or, under the cosine metric, of length zero (ErrZeroVector) are refused,
	// and then nothing of the call is stored.
	Add(ids []uint64, vectors []float32) error
	// Delete removes the ids that are present and returns how many were.
	Delete(ids []uint64) int
	// Search appends up to K neighbours of q to dst, ascending by distance,
	// ties by id.
	Search(dst []Neighbor, q []float32, o SearchOptions) ([]Neighbor, error)
	// Scores writes the exact distance from q to each id into dst[i]; an
	// absent id gets NaN.
	Scores(dst []float32, q []float32, ids []uint64) error
	// Len is the number of vectors, Dim their length.
	Len() int
	Dim() int
}
