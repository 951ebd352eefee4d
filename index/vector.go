package index

import "context"

// Keeper is an index that shows what it keeps and works in steps, as every index
// of this package does.
type Keeper interface {
	Index
	// AddContext is Add that stops when the context is done, and then returns
	// its error: some of the vectors may have been added. One context error may
	// come a few milliseconds late.
	AddContext(ctx context.Context, ids []uint64, vectors []float32) error
	// Vector returns the stored vector of id, of unit length under the cosine
	// metric, nil where id is absent or its vector is damaged (Scores tells
	// which). It must not be changed, and is valid until id is deleted or gets
	// another vector.
	Vector(id uint64) []float32
	// Has says whether id is present. Cost: one look into a table.
	Has(id uint64) bool
	// IDs calls yield for every id, in no order, until it returns false. Add and
	// Delete may go on meanwhile; it shows what there was when it began.
	IDs(yield func(id uint64) bool)
	// Bytes is what the index takes now, in memory or mapped.
	Bytes() Memory
	// SetWorkers sets the number of goroutines of Add, Delete and SearchBatch
	// from their next step on; 0 means as many as the Go runtime runs at once.
	SetWorkers(n int)
}
