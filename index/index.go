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
// A metric is one file, metric_NAME.go. Package indextest has the conformance suite.
package index

import (
	"context"

	"github.com/lexsem/lexsem/internal/snapshot"
)

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

	// AddContext is Add that stops when ctx is done, within a few milliseconds, and returns its error.
	// Some of the vectors may have been added.
	AddContext(ctx context.Context, ids []uint64, vectors []float32) error
	// Vector returns the stored vector of id, of unit length under the cosine metric; nil if id is
	// absent or its vector is damaged (Scores tells which). Read only. Valid until id is deleted or
	// gets another vector, or until the next call with the same space: *space, made if nil, receives a
	// vector that has to be copied. With a nil space each has its own.
	Vector(id uint64, space *[]float32) []float32
	// Has reports whether id is present. Cost: one table lookup.
	Has(id uint64) bool
	// IDs calls yield for every id, in no order, until it returns false. It shows the state at its
	// start; Add and Delete may go on.
	IDs(yield func(id uint64) bool)
	// Bytes is the memory of the index, mapped parts included.
	Bytes() Memory
	// SetWorkers sets the number of goroutines of Add, Delete and SearchBatch from their next step on;
	// 0 means GOMAXPROCS.
	SetWorkers(n int)

	// SearchBatch writes the neighbours of query i, row i of queries [len(dst) × Dim], to dst[i]; the
	// previous content of dst[i] is dropped and its memory reused. It uses as many goroutines as the
	// index has workers; o.Allow and o.Visible are called from all of them. Distances may differ from
	// those of Search by rounding. After an error dst is unchanged.
	SearchBatch(dst [][]Neighbor, queries []float32, o SearchOptions) error

	// Save writes the index, as it is at one moment, into w. Searches go on; Add and Delete wait while the
	// graph's links are copied. Errors: those of w, and ErrCorrupt if the index is in a damaged snapshot.
	Save(w *snapshot.Writer) error
	// SaveMarked is Save with a mark for Remap.
	SaveMarked(w *snapshot.Writer) (Mark, error)
	// Remap makes the index read its float32 vectors, and codes that are already in a file, from f,
	// and frees their memory. f must be written by the SaveMarked call that returned the mark. Chunks
	// written to since then, and the last chunk, stay in memory. Answers do not change. Searches go
	// on; Add and Delete wait some milliseconds at most.
	//
	// f must stay open as described for Open. retired, if not nil, is called when no search uses the
	// former memory or file any more, on the goroutine of the search that ends last. Vectors returned
	// before may still be there. Errors, which change nothing: ErrMismatch for a mark of another
	// index or file, ErrCorrupt.
	Remap(mark Mark, f *snapshot.File, retired func()) error
	// Unmapped is about how many float32 vectors there is memory for beside those that are read from a
	// snapshot. The first write to a chunk of a snapshot copies all of it.
	Unmapped() int

	// Verify returns all inconsistencies of the data structure, joined, each as ErrCorrupt; for a
	// graph also nodes that searches cannot reach. It reads all vectors, also those of a snapshot that
	// were not read yet, and checks that codes belong to their vectors. Add and Delete wait, searches
	// do not. It returns the error of ctx within a few milliseconds.
	Verify(ctx context.Context) error
	// Unreachable counts the linked vectors that no walk along the lowest layer finds; 0 for exact
	// indexes. Its error is that of ctx.
	Unreachable(ctx context.Context) (int, error)
}
