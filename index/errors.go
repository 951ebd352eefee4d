package index

import (
	"errors"
	"fmt"
)

// Errors of arguments of an index.
var (
	// ErrNotFinite: a vector contains NaN or an infinity.
	ErrNotFinite = errors.New("vector holds NaN or an infinity; give finite numbers")
	// ErrZeroVector: a zero vector under the cosine metric.
	ErrZeroVector = errors.New("zero vector has no direction under the cosine metric; leave it out or use another metric")
	// ErrTooLarge: under dot and l2, distances to the vector could overflow.
	ErrTooLarge = errors.New("vector is longer than 1e18, so distances could overflow; scale the vectors down")
	// ErrOptions: an option or another argument is out of its range, or an unknown name.
	ErrOptions = errors.New("option out of range; see index.Options")
	errBadK    = optionError("k must be at least 1; ask for one neighbour or more")
	errLength  = optionError("lengths do not match; give one entry each")
	errKind    = optionError("unknown kind of index; see index.Kinds")
	errMetric  = optionError("unknown metric; see index.Metrics")
	// errFull: an index holds at most maxLen vectors.
	errFull = errors.New("index is full; split the collection over several indexes")
)

// optionError is an ErrOptions.
type optionError string

func (e optionError) Error() string        { return string(e) }
func (e optionError) Is(target error) bool { return target == ErrOptions }

// Errors of snapshots.
var (
	// ErrCorrupt: a snapshot is damaged.
	ErrCorrupt = errors.New("snapshot is damaged; rebuild the index from the stored vectors")
	// ErrMismatch: a snapshot is sound, but of another kind, version or configuration.
	ErrMismatch = errors.New("snapshot is of another configuration; rebuild the index from the stored vectors")
)

// DimensionError says that a vector, or a row of several, does not have the length of the index.
type DimensionError struct {
	Got  int // number of components given
	Want int // number needed: Dim times the number of vectors
}

func (e *DimensionError) Error() string {
	return fmt.Sprintf("vector data has %d components where %d are needed; use the model the index was built with", e.Got, e.Want)
}
