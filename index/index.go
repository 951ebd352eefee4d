// Package index finds the nearest of many vectors, by cosine, dot product or squared Euclidean distance.
//
// Start with [New], [Index.Add] and [Index.Search]. [Open] uses a saved index without reading the whole file.
// [Grow] makes a graph of a flat index. The kinds:
//
//	flat          compares every vector: exact, and the measure of every other kind
//	flat-int8     exact as well, several times as fast, by codes of one byte a component
//	hnsw          a graph: finds nearly all neighbours and compares a few hundred vectors
//	hnsw-int8     a graph over codes of one byte; a search takes less than half the time of hnsw
//	hnsw-compact  a graph over codes of four bits; once it was saved, the vectors stay in the file
//	hnsw-fast     the same with more links: the fastest at high recall, twice as long to build as hnsw-int8
//
// What holds: an index is safe for concurrent use and changes in place, one writer at a time. A search sees
// an Add or Delete of a vector wholly or not at all, and waits for a writer only for microseconds at a time.
// While an id gets another vector, a search of a graph may miss that id. A slot is reused only after all
// searches that started before the delete have finished. Equal calls with equal seeds give equal graphs, if
// no search runs meanwhile. An index copies its arguments. Damage in a snapshot is ErrCorrupt, from the call
// that first reads it.
//
// A metric is one file, metric_NAME.go. Package indextest has the conformance suite, also for indexes outside
// this module.
package index

import "context"

// Neighbor is one result of a search. A lower distance is nearer.
type Neighbor struct {
	ID       uint64
	Distance float32
}

// SearchOptions shape one search.
type SearchOptions struct {
	// K is the number of neighbours, at least 1.
	K int
	// Ef is the size of the candidate pool of approximate indexes; 0 means the index's default, and it
	// is raised to K. Exact indexes ignore it.
	Ef int
	// Allow, if not nil, says which ids may be returned. It is called from the searching goroutine,
	// possibly several times for an id, and must be fast.
	Allow func(id uint64) bool
	// Among, if not nil, calls yield with each id that Allow accepts, once, until yield returns false.
	// Allowed is about their number. A search uses Among where that costs less than calling Allow for
	// every id. Ignored without Allow.
	Among   func(yield func(id uint64) bool)
	Allowed int
	// Visible, if not nil, reports which ids exist for this search. It should accept nearly all ids: it is
	// called only for ids close to the answer and does not change the plan of the search. Other ids are not
	// returned; a graph still walks through them.
	Visible func(id uint64) bool
	// Ctx, if not nil, ends the search: its error is returned within about a millisecond of work.
	Ctx context.Context
}

// done is the error of the context.
func (o *SearchOptions) done() error {
	if o.Ctx == nil {
		return nil
	}
	return o.Ctx.Err()
}

// Index finds the nearest of many vectors of one dimension. Implementations are safe for
// concurrent use. A search sees each vector's Add and Delete wholly or not at all, and waits for
// neither. Arguments are copied.
type Index interface {
	// Add stores len(ids) vectors, row by row [len(ids) × Dim]. An id that is present gets the new
	// vector. Errors, after which nothing is stored: *DimensionError; ErrNotFinite; ErrZeroVector
	// under the cosine metric; ErrTooLarge under the others; errFull.
	Add(ids []uint64, vectors []float32) error
	// Delete removes the ids that are present and returns how many were.
	Delete(ids []uint64) int
	// Search appends up to K neighbours of q to dst, nearest first, ties by id.
	Search(dst []Neighbor, q []float32, o SearchOptions) ([]Neighbor, error)
	// Scores writes the exact distance from q to each id into dst[i]; NaN for an absent id.
	Scores(dst []float32, q []float32, ids []uint64) error
	// Len is the number of vectors, Dim their length.
	Len() int
	Dim() int
}
