package engine

import (
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Errors of this package, to be tested with errors.Is. They hold for the layers
// below as well.
var (
	// ErrNotFound answers Get for an id that is not stored, and is what ErrNoDatabase
	// is as well.
	ErrNotFound = store.ErrNotFound
	// ErrNoDatabase answers an Open that creates none, for a folder without a
	// database.
	ErrNoDatabase = store.ErrNoDatabase
	// ErrNoExport answers NewExported and Import for a line that Export has not written.
	// It is an ErrInvalid.
	ErrNoExport = fmt.Errorf("%w: no line of an export", ErrInvalid)
	// ErrExists answers Add for an id that is stored already, and collections.Create for
	// a name that is taken.
	ErrExists = fault.ErrExists
	// ErrInvalid answers input that can never be right: an empty id, an empty
	// query, a k out of range, a vector with NaN.
	ErrInvalid = fault.ErrInvalid
	// ErrNoEncoder answers calls that need an encoder on an engine that was
	// opened without one.
	ErrNoEncoder = fault.ErrNoEncoder
	// ErrNoReranker answers a query that asks for reranking on an engine that was opened
	// without Options.Reranker.
	ErrNoReranker = errors.New("no reranker: open the database with one")
	// ErrReranker answers a search whose reranker failed, took longer than the search may,
	// or gave what it must not. It wraps the cause.
	ErrReranker = errors.New("reranker")
	// ErrNotFitted answers a query for a variant that has not been fitted.
	ErrNotFitted = modulate.ErrNotFitted
	// ErrClosed answers calls after Close, and those that Close cancels.
	ErrClosed = store.ErrClosed
	// ErrCorrupt answers what meets damage on disk. Derived state that is damaged
	// is made anew in the background, and the call may be tried again.
	ErrCorrupt = store.ErrCorrupt
	// ErrForeign answers Open for a folder that holds other files and no database.
	ErrForeign = store.ErrForeign
	// ErrLocked answers Open for a database that another process has open.
	ErrLocked = store.ErrLocked
	// ErrNoSpace answers writes, and Close, while the disk is too full for them.
	// Documents can be deleted for a while yet.
	ErrNoSpace = store.ErrNoSpace
	// ErrMemory answers Add, Upsert, Patch and Import of documents that would take more memory
	// than Options.MaxMemoryMiB. Nothing of the batch was stored.
	ErrMemory = state.ErrMemory
	// ErrBackup answers Restore, and Backup onto a file, for what is a damaged backup
	// or none.
	ErrBackup = store.ErrBackup
	// ErrOtherBackup answers Backup onto a file that is no backup of this database's past.
	ErrOtherBackup = store.ErrOtherBackup
	// ErrOccupied answers Restore into a folder that has a database.
	ErrOccupied = store.ErrOccupied
	// ErrReadOnly answers writes on an engine opened read-only.
	ErrReadOnly = store.ErrReadOnly
	// ErrEncoder answers an encoder that gave something other than an encoder must:
	// too few outputs, or a vector that is of another length, zero or not finite.
	// Nothing of it is stored.
	ErrEncoder = encoder.ErrContract
	// ErrElsewhere answers calls that only who keeps the documents can answer, where that is
	// another engine (package remote).
	ErrElsewhere = errors.New("the documents are kept by another engine")
	// ErrBackend is what every failure of an engine that keeps the documents of a database of package
	// remote, or of the way to it, wraps.
	ErrBackend = errors.New("the engine that keeps the documents")
)

// QueryError says which query of a SearchBatch failed and why.
type QueryError struct {
	Position int // index in the call's slice
	Err      error
}

func (e *QueryError) Error() string { return fmt.Sprintf("query %d: %v", e.Position, e.Err) }

// Unwrap returns the cause.
func (e *QueryError) Unwrap() error { return e.Err }

// DocumentError says which document of an Add, Upsert or Patch was refused and why.
// Nothing of that call was stored.
type DocumentError struct {
	Position int // index in the call's slice
	ID       string
	Err      error
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("document %d (id %q): %v", e.Position, fault.Clip(e.ID), e.Err)
}

// Unwrap returns the cause.
func (e *DocumentError) Unwrap() error { return e.Err }
