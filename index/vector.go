package index

import "context"

// Keeper is an index that returns stored vectors and can work in steps. Every index of this
// package is one.
type Keeper interface {
	Index
	// AddContext is Add that stops when ctx is done, within a few milliseconds, and returns its error.
	// Some of the vectors may have been added.
	AddContext(ctx context.Context, ids []uint64, vectors []float32) error
	// Vector returns the stored vector of id, of unit length under the cosine metric; nil if id is
	// absent or its vector is damaged (Scores tells which). Read only. Valid until id is deleted or
	// gets another vector.
	Vector(id uint64) []float32
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
}
