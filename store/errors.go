package store

import (
	"errors"
	"fmt"
)

// Errors of opening a database.
var (
	// ErrLocked is wrapped by *LockedError.
	ErrLocked = errors.New("database is in use")
	// ErrCorrupt is wrapped by *CorruptError.
	ErrCorrupt = errors.New("database is damaged")
	// ErrVersion is wrapped by *VersionError.
	ErrVersion = errors.New("database format is not supported")
	// ErrForeign is wrapped by *ForeignError.
	ErrForeign = errors.New("folder holds other files and no database")
	// ErrUnclean answers a read-only Open of a database whose last writer did
	// not close it: the write-ahead log must be replayed first.
	ErrUnclean = errors.New("database was not closed cleanly; open it once for writing to recover it")
	// ErrNoDatabase answers a read-only Open of a folder without a database. It is an
	// ErrNotFound.
	ErrNoDatabase error = noDatabase{}
)

// Errors of reading and writing.
var (
	// ErrClosed answers calls after Close.
	ErrClosed = errors.New("database is closed; open it again")
	// ErrReadOnly answers writes to a store opened with ReadOnly.
	ErrReadOnly = errors.New("database is open for reading only; open it for writing")
	// ErrNotFound answers reads of an ordinal that has no record (any more).
	ErrNotFound = errors.New("not found")
	// ErrTrimmed answers Log when the entries asked for were removed by
	// Compact; the caller has to rebuild from a Scan.
	ErrTrimmed = errors.New("change log was trimmed; rebuild from a scan")
	// ErrAhead answers Log and Compact with a sequence that has not happened;
	// derived state that claims it belongs to another history.
	ErrAhead = errors.New("sequence lies ahead of the database; rebuild from a scan")
	// ErrInvalidID answers ids that are empty or longer than MaxIDBytes.
	ErrInvalidID = fmt.Errorf("invalid document id; use 1 to %d bytes", MaxIDBytes)
	// ErrDimension is wrapped by *DimensionError.
	ErrDimension = errors.New("wrong vector dimension")
	// ErrNoDimension answers a Put before the manifest names a dimension.
	ErrNoDimension = errors.New("the manifest names no dimension; set Dim with SetManifest first")
	// ErrNotFinite answers vectors with NaN or an infinity.
	ErrNotFinite = errors.New("vector has NaN or an infinite component; leave the document out or encode it anew")
	// ErrSpan answers chunks that lie outside the text or not in its order.
	ErrSpan = errors.New("chunks must lie in the text, in its order")
	// ErrNoMedia answers data without a media type.
	ErrNoMedia = errors.New("data need a media type")
	// ErrMetadata answers metadata that is no JSON object.
	ErrMetadata = errors.New("metadata must be a JSON object or nil")
	// ErrTooLarge answers documents above MaxDocumentBytes and manifests above
	// MaxManifestBytes.
	ErrTooLarge = errors.New("record is too large; split it")
	// ErrManifest answers a change of the manifest that is not allowed.
	ErrManifest = errors.New("manifest change refused")
	// ErrBatchDone answers use of a batch after Commit or Discard.
	ErrBatchDone = errors.New("batch is finished; begin a new one")
	// ErrNoSpace answers writes while the disk is so full that Badger, which
	// writes through memory maps, could not fail cleanly.
	ErrNoSpace = errors.New("too little free space on the disk; free some and try again")
	// ErrFailed answers writes after one whose outcome is unknown. Reading
	// goes on; opening the store again tells what survived and repairs.
	ErrFailed = errors.New("an earlier write failed midway; close the store and open it again")
)

type noDatabase struct{}

func (noDatabase) Error() string        { return "no database in this folder; check the path" }
func (noDatabase) Is(target error) bool { return target == ErrNotFound }

// LockedError says that another process (or another Store of this one) has the
// database open.
type LockedError struct {
	Dir string
	PID int // of the process that has it open for writing, 0 if unknown
}

// Error names the holder if it is known, and the remedy.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("database %s is in use by another process; close it there first", e.Dir)
	}
	return fmt.Sprintf("database %s is in use by process %d; close it there first", e.Dir, e.PID)
}

// Unwrap lets errors.Is(err, ErrLocked) hold.
func (e *LockedError) Unwrap() error { return ErrLocked }

// ForeignError says that a folder holds files and no database, so that no
// database is made there and nothing in it is touched.
type ForeignError struct {
	Dir     string
	Name    string // one of the files
	records bool   // it has what may be our records
}

// Error names the folder and the remedy.
func (e *ForeignError) Error() string {
	s := fmt.Sprintf("folder %s holds other files, such as %q, and no database; nothing in it was touched; name an empty folder, or one that is to be made", e.Dir, e.Name)
	if e.records {
		s += fmt.Sprintf("; if it is a database that has lost its file %s, make an empty file %s in it", headName, markerName)
	}
	return s
}

// Unwrap lets errors.Is(err, ErrForeign) hold.
func (e *ForeignError) Unwrap() error { return ErrForeign }

// CorruptError says what is damaged.
type CorruptError struct {
	Dir  string // the database's folder
	What string // the record or file, and what is wrong with it
	Err  error  // the cause, if there is one
}

// Error names the damage and the remedy.
func (e *CorruptError) Error() string {
	s := fmt.Sprintf("database %s is damaged: %s", e.Dir, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + "; restore it from a backup or build it anew"
}

// Unwrap lets errors.Is(err, ErrCorrupt) and tests of the cause hold.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Err}
}

// VersionError says that a database was written by a newer program.
type VersionError struct {
	Dir       string
	Major     int // the database's format
	Supported int // the newest format of this program
}

// Error names both versions and the remedy.
func (e *VersionError) Error() string {
	return fmt.Sprintf("database %s has format %d, this program reads up to %d; use a newer version of the program",
		e.Dir, e.Major, e.Supported)
}

// Unwrap lets errors.Is(err, ErrVersion) hold.
func (e *VersionError) Unwrap() error { return ErrVersion }

// DimensionError says that a vector does not have the database's dimension.
type DimensionError struct{ Got, Want int }

// Error names both dimensions and the remedy.
func (e *DimensionError) Error() string {
	return fmt.Sprintf("vector has %d dimensions, the database %d; use the encoder it was made with", e.Got, e.Want)
}

// Unwrap lets errors.Is(err, ErrDimension) hold.
func (e *DimensionError) Unwrap() error { return ErrDimension }
