package engine

import (
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/fault"
)

// Errors of this package, to be tested with errors.Is. Errors of the layers
// below come through wrapped: store.ErrLocked, store.ErrCorrupt,
// encoder.ErrMismatch and encoder.ErrUnavailable keep their meaning.
var (
	// ErrNotFound answers Get for an id that is not stored, and Open with
	// MustExist where there is no database.
	ErrNotFound = errors.New("not found")
	// ErrExists answers Add for an id that is stored already.
	ErrExists = errors.New("document exists")
	// ErrInvalid answers input that can never be right: an empty id, an empty
	// query, a k out of range, a vector with NaN.
	ErrInvalid = fault.Invalid
	// ErrNoEncoder answers calls that need an encoder on an engine that was
	// opened without one.
	ErrNoEncoder = errors.New("no encoder: open the database with one")
	// ErrNotFitted answers a query for a variant that has not been fitted.
	ErrNotFitted = errors.New("not fitted")
	// ErrClosed answers calls after Close.
	ErrClosed = errors.New("engine is closed")
	// ErrBehind answers searches after a commit that is stored but could not be
	// applied to the index: opening the database again repairs it.
	ErrBehind = errors.New("the index is behind the store: close the database and open it again")
	// ErrReadOnly answers writes on an engine opened read-only.
	ErrReadOnly = errors.New("database is open read-only")
)

// DocumentError says which document of an Add or Upsert was refused and why.
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
