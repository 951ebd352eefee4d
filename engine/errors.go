package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Errors of this package and of the packages that it uses. Test for them with errors.Is.
var (
	// ErrNotFound means that the id is not stored. ErrNoDatabase wraps it.
	ErrNotFound = store.ErrNotFound
	// ErrNoDatabase means that the folder has no database and Open may not create one.
	ErrNoDatabase = store.ErrNoDatabase
	// ErrExists means that Add met an id that is already stored, or collections.Create a name that is taken.
	ErrExists = fault.ErrExists
	// ErrInvalid means that an argument can never be right: an empty id, an empty query, K out of range, a vector with
	// NaN.
	ErrInvalid = fault.ErrInvalid
	// ErrNoEncoder means that the call needs an encoder and the database was opened without one.
	ErrNoEncoder = fault.ErrNoEncoder
	// ErrNoReranker means that a query asks for reranking and the database was opened without Options.Reranker.
	ErrNoReranker = errors.New("no reranker: open the database with one")
	// ErrReranker means that the reranker failed, exceeded the search's time limit, or broke its contract. It wraps the
	// cause.
	ErrReranker = errors.New("reranker")
	// ErrNotFitted means that the query's variant has not been fitted.
	ErrNotFitted = modulate.ErrNotFitted
	// ErrClosed means that the database is closed, or that Close cancelled the call.
	ErrClosed = store.ErrClosed
	// ErrCorrupt means that data on disk is damaged. Damaged derived state is rebuilt in the background: try the call
	// again. For damaged records use package engine/repair.
	ErrCorrupt = store.ErrCorrupt
	// ErrForeign means that the folder holds other files and no database.
	ErrForeign = store.ErrForeign
	// ErrLocked means that another process has the database open.
	ErrLocked = store.ErrLocked
	// ErrNoSpace means that the disk is too full for the write or for Close. Deletes still work for a while.
	ErrNoSpace = store.ErrNoSpace
	// ErrMemory means that the documents would exceed Options.MaxMemoryMiB. Nothing of the batch was stored.
	ErrMemory = state.ErrMemory
	// ErrBackup means that the file is a damaged backup or no backup.
	ErrBackup = store.ErrBackup
	// ErrOtherBackup means that the file is not a backup of this database's past.
	ErrOtherBackup = store.ErrOtherBackup
	// ErrOccupied means that the folder given to Restore already has a database.
	ErrOccupied = store.ErrOccupied
	// ErrReadOnly means that the database was opened without write access.
	ErrReadOnly = store.ErrReadOnly
	// ErrEncoder means that the encoder broke its contract: too few outputs, a vector that has the wrong length, is
	// zero or is not finite, or a panic. None of its output is stored.
	ErrEncoder = encoder.ErrContract
	// ErrElsewhere means that another engine keeps the documents (package remote), and only that engine can do this.
	ErrElsewhere = errors.New("the documents are kept by another engine")
	// ErrBackend means that the engine that keeps the documents (package remote) failed, or could not be reached.
	ErrBackend = errors.New("the engine that keeps the documents")
)

// QueryError says which query of a SearchBatch failed, and why.
type QueryError struct {
	Position int   // index in the call's slice
	Err      error // the cause
}

// Error names the query and the cause.
func (e *QueryError) Error() string { return fmt.Sprintf("query %d: %v", e.Position, e.Err) }

// Unwrap returns the cause.
func (e *QueryError) Unwrap() error { return e.Err }

// DocumentError says which document of an Add, Upsert or Patch was refused, and why. Nothing of that call was stored.
type DocumentError struct {
	Position int    // index in the call's slice
	ID       string // id of the document
	Err      error  // the cause
}

// Error names the document and the cause.
func (e *DocumentError) Error() string {
	return fmt.Sprintf("document %d (id %q): %v", e.Position, fault.Clip(e.ID), e.Err)
}

// Unwrap returns the cause.
func (e *DocumentError) Unwrap() error { return e.Err }

// misplaced adds the position of a query to its error. Errors of the context belong to no query and stay
// unchanged.
func misplaced(ctx context.Context, err error, at int) error {
	if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
		return cause
	}
	if q, ok := errors.AsType[*QueryError](err); ok {
		return &QueryError{Position: at + q.Position, Err: q.Err}
	}
	return err
}
