package bench

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is.
var (
	// ErrBrokenLine: a line does not follow its file format.
	ErrBrokenLine = errors.New("broken line")
	// ErrDuplicateID: an id, or a pair of ids, occurs twice.
	ErrDuplicateID = errors.New("duplicate id")
	// ErrUnknownID: a judgement names a query or passage that does not exist.
	ErrUnknownID = errors.New("unknown id")
	// errEmptyQuery: a query has no text.
	errEmptyQuery = errors.New("empty query")
	// errLineTooLong: a line is longer than ReadOptions.MaxLine.
	errLineTooLong = errors.New("line too long")
	// ErrNoQueries: a task has no queries on this corpus.
	ErrNoQueries = errors.New("no queries")
	// ErrUnknownName: a task, metric, system, index or other name is not known.
	ErrUnknownName = errors.New("unknown name")
	// ErrOption: an option is out of range.
	ErrOption = errors.New("bad option")
	// ErrNoData: a folder or file of data does not exist.
	ErrNoData = errors.New("no such data")
)

// LineError is the place of an error in an input file.
type LineError struct {
	File string
	Line int   // from 1; 0 for the file as a whole
	Err  error // wraps one of this package's errors, such as ErrBrokenLine
}

// Error has the form "file:line: MESSAGE".
func (e *LineError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }
