package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/regular"
)

// Errors of opening a database.
var (
	// ErrLocked says that the database is in use. *LockedError wraps it.
	ErrLocked = errors.New("database is in use")
	// ErrCorrupt says that the database is damaged. *CorruptError wraps it.
	ErrCorrupt = errors.New("database is damaged")
	// ErrVersion says that the format is not supported. *VersionError wraps it.
	ErrVersion = errors.New("database format is not supported")
	// ErrForeign says that the folder holds other files. *foreignError wraps it.
	ErrForeign = errors.New("folder holds other files and no database")
	// ErrUnclean is returned by a read-only Open if the last writer did not close the database: its
	// write-ahead log must be replayed first.
	ErrUnclean = errors.New("database was not closed cleanly; open it once for writing to recover it")
	// ErrNoDatabase is returned by a read-only Open of a folder without a database. It is an
	// ErrNotFound.
	ErrNoDatabase error = noDatabase{}
)

// Errors of reading and writing.
var (
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("database is closed; open it again")
	// ErrReadOnly is returned by writes to a store opened with ReadOnly.
	ErrReadOnly = errors.New("database is open for reading only; open it for writing")
	// ErrNotFound is returned if a record does not exist, or no longer exists.
	ErrNotFound = errors.New("not found")
	// ErrTrimmed is returned by Log if Compact has removed the requested entries. The caller must
	// rebuild from a Scan.
	ErrTrimmed = errors.New("change log was trimmed; rebuild from a scan")
	// errAhead is returned by Log and Compact for a sequence beyond the last commit. Derived state
	// with such a sequence belongs to another history.
	errAhead = errors.New("sequence is beyond the last commit of the database; rebuild from a scan")
	// errInvalidID is returned for ids that are empty or longer than limit.IDBytes.
	errInvalidID = fmt.Errorf("invalid document id; use 1 to %d bytes", limit.IDBytes)
	// ErrDimension says that a vector has the wrong length. *DimensionError wraps it.
	ErrDimension = errors.New("wrong vector dimension")
	// errNoDimension is returned by Put while the manifest has no dimension.
	errNoDimension = errors.New("the manifest names no dimension; set Dim with SetManifest first")
	// errNotFinite is returned for vectors with NaN or an infinity.
	errNotFinite = errors.New("vector has NaN or an infinite component; leave the document out or encode it anew")
	// errSpan is returned for chunks that are outside the text or not in text order.
	errSpan = errors.New("chunks must be within the text and in its order")
	// errImpacts is returned for impacts in a database whose manifest says that there are none.
	errImpacts = errors.New("impacts of words need a database that was made with a model that gives them")
	// errNoMedia is returned for data without a media type.
	errNoMedia = errors.New("data needs a media type")
	// errMetadata is returned for metadata that is not a JSON object.
	errMetadata = errors.New("metadata must be a JSON object or nil")
	// ErrTooLarge is returned for documents above 256 MiB and manifests above
	// maxManifestBytes.
	ErrTooLarge = errors.New("record is too large; split it")
	// ErrManifest is returned for a manifest change that is not allowed.
	ErrManifest = errors.New("manifest change refused")
	// errBatchDone is returned by a batch after Commit or Discard.
	errBatchDone = errors.New("batch is finished; begin a new one")
	// ErrNoSpace is returned by writes if the disk is so full that Badger could not fail cleanly,
	// since it writes through memory maps.
	ErrNoSpace = errors.New("too little free space on the disk; free some and try again")
	// ErrFailed is returned by writes after a write whose outcome is unknown. Reads still work.
	// Opening the store again finds out what survived and repairs it.
	ErrFailed = errors.New("an earlier write failed midway; close the store and open it again")
	// ErrReplaced is returned by writes and by Close if the folder was removed or moved, or a copy restored into it, while
	// the store was open. Another database may be there, so nothing is written any more.
	ErrReplaced = errors.New("the folder of the database was removed, moved or restored from a copy while it was open; close it and open what is there now")
)

type noDatabase struct{}

func (noDatabase) Error() string        { return "no database in this folder; check the path" }
func (noDatabase) Is(target error) bool { return target == ErrNotFound }

// LockedError says that another process, or another Store of this process, has the database open.
type LockedError struct {
	Dir  string
	PID  int  // process that has it open for writing, 0 if unknown
	here bool // this process has it open
}

// Error names the process if it is known, and the remedy.
func (e *LockedError) Error() string {
	switch {
	case e.here:
		return fmt.Sprintf("database %s is already open in this process; use what the first opening returned, or close it first", e.Dir)
	case e.PID == 0:
		return fmt.Sprintf("database %s is in use by another process; close it there first", e.Dir)
	case e.PID == os.Getpid():
		return fmt.Sprintf("database %s is in use by process %d of another container; close it there first", e.Dir, e.PID)
	}
	return fmt.Sprintf("database %s is in use by process %d; close it there first", e.Dir, e.PID)
}

// Unwrap returns ErrLocked, for errors.Is.
func (e *LockedError) Unwrap() error { return ErrLocked }

// foreignError says that a folder has files but no database. No database is created there and no
// file is touched.
type foreignError struct {
	Dir     string
	Name    string // one of the files
	records bool   // it has what may be our records
}

// Error names the folder and the remedy.
func (e *foreignError) Error() string {
	s := fmt.Sprintf("folder %s holds other files, such as %q, and no database; nothing in it was touched; name an empty or a new folder", e.Dir, e.Name)
	if e.records {
		s += fmt.Sprintf("; if it is a database that has lost its file %s, make an empty file %s in it", headName, markerName)
	}
	return s
}

// Unwrap returns ErrForeign, for errors.Is.
func (e *foreignError) Unwrap() error { return ErrForeign }

// entryError says that something else has the place of a file or folder of a database, as a pipe, a link or a folder of
// that name.
type entryError struct {
	path, want string
	err        error
}

// misplaced makes such an error of one that says so.
func misplaced(path string, err error) error {
	switch {
	case errors.Is(err, regular.ErrIrregular):
		return &entryError{path, "file", err}
	case errors.Is(err, syscall.ENOTDIR):
		return &entryError{path, "folder", err}
	}
	return err
}

// Error names it and the remedy.
func (e *entryError) Error() string {
	return fmt.Sprintf("%s is in the way: it is no %s of a database; it was not touched; move it elsewhere and try again", e.path, e.want)
}

// Entry is its name in the folder of the database.
func (e *entryError) Entry() string { return filepath.Base(e.path) }

// Unwrap returns ErrForeign and the cause, for errors.Is.
func (e *entryError) Unwrap() []error { return []error{ErrForeign, e.err} }

// CorruptError says which record or file is damaged.
type CorruptError struct {
	Dir  string // folder of the database
	What string // damaged record or file, and what is wrong with it
	Err  error  // cause, or nil
}

// Error names the damage and the remedy.
func (e *CorruptError) Error() string {
	s := fmt.Sprintf("database %s is damaged: %s", e.Dir, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + "; restore it from a backup or build it anew"
}

// Unwrap returns ErrCorrupt and the cause, for errors.Is.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Err}
}

// VersionError says that a database was written by a newer program.
type VersionError struct {
	Dir       string
	Major     int // format of the database
	Supported int // newest format that this program reads
}

// Error names both versions and the remedy.
func (e *VersionError) Error() string {
	return fmt.Sprintf("database %s has format %d, this program reads up to %d; use a newer version of the program",
		e.Dir, e.Major, e.Supported)
}

// Unwrap returns ErrVersion, for errors.Is.
func (e *VersionError) Unwrap() error { return ErrVersion }

// DimensionError says that a vector does not have the dimension of the database.
type DimensionError struct{ Got, Want int }

// Error names both dimensions and the remedy.
func (e *DimensionError) Error() string {
	return fmt.Sprintf("vector has %d dimensions, the database %d; use the encoder it was made with", e.Got, e.Want)
}

// Unwrap returns ErrDimension, for errors.Is.
func (e *DimensionError) Unwrap() error { return ErrDimension }
