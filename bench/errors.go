package bench

import (
	"errors"
	"fmt"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrBrokenLine: a line that is not what its file format asks for.
	ErrBrokenLine = errors.New("broken line")
	// ErrDuplicateID: an id, or a pair of ids, that stood earlier in the file.
	ErrDuplicateID = errors.New("duplicate id")
	// ErrUnknownID: a judgement of a query or passage that does not exist.
	ErrUnknownID = errors.New("unknown id")
	// ErrEmptyQuery: a query without any text.
	ErrEmptyQuery = errors.New("empty query")
	// ErrLineTooLong: a line above ReadOptions.MaxLine.
	ErrLineTooLong = errors.New("line too long")
	// ErrNoQueries: a task that has nothing to ask on this corpus.
	ErrNoQueries = errors.New("no queries")
	// ErrUnknownName: a task, metric, system or index that is not registered.
	ErrUnknownName = errors.New("unknown name")
	// ErrOption: an option outside its range.
	ErrOption = errors.New("bad option")
	// ErrNoData: a folder or file of data that is not there.
	ErrNoData = errors.New("no such data")
	// ErrVectorFile: a vector file whose header and length do not agree, or
	// whose values are not usable.
	ErrVectorFile = errors.New("bad vector file")
	// ErrWrong: a database that did not answer by what was stored.
	ErrWrong = errors.New("wrong answers")
)

// LineError says where in an input file something is wrong.
type LineError struct {
	File string
	Line int   // from 1; 0 for the file as a whole
	Err  error // wraps one of the sentinels above
}

// Error has the form "file:line: what is wrong".
func (e *LineError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap gives the cause.
func (e *LineError) Unwrap() error { return e.Err }
