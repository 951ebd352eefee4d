package files

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/lexsem/lexsem/engine"
)

// Errors of this package, to be tested with errors.Is. All of them also wrap
// engine.ErrInvalid.
var (
	// ErrNoText reports a document or a file without anything to search for.
	ErrNoText error = &sentinel{"no text to index; add a text or leave the document out"}
	// ErrBinary reports a file with less than 97 % of text in a known encoding.
	ErrBinary error = &sentinel{"not UTF-8 text; convert it first"}
	// ErrTooLarge reports a record or an image larger than Options.MaxBytes. Of other files the beginning is read.
	ErrTooLarge error = &sentinel{"too large; split it"}
	// ErrMalformed reports a file that breaks the rules of its kind.
	ErrMalformed error = &sentinel{"malformed"}
	// ErrKind reports a kind of file that is not read.
	ErrKind error = &sentinel{"files of this kind are not read"}
)

type sentinel struct{ text string }

func (e *sentinel) Error() string { return e.text }
func (e *sentinel) Unwrap() error { return engine.ErrInvalid }

// failure is one of the sentinel errors with its own message.
type failure struct {
	text string
	is   error
	err  error // the cause, may be nil
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() []error {
	if e.err == nil {
		return []error{e.is}
	}
	return []error{e.is, e.err}
}

// Errorf makes an error with its own message that matches one of this package's errors and, with %w, its
// cause.
func Errorf(is error, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &failure{err.Error(), is, errors.Unwrap(err)}
}

// RecordError says which record of a file cannot be read, and why. The other records can be read.
type RecordError struct {
	Line int    // of the file, from 1, where the record begins; 0 where the kind has no lines
	ID   string // "" where it is not known
	Err  error
}

func (e *RecordError) Error() string {
	switch {
	case e.Line > 0:
		return "line " + strconv.Itoa(e.Line) + ": " + e.Err.Error()
	case e.ID != "":
		return fmt.Sprintf("record %q: %v", clip(e.ID, 80), e.Err)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

var errNoID = Errorf(ErrMalformed, `no "_id" or "id"; give every line an id`)

// numbered is the id of the n-th record of a file.
func numbered(id string, n int) string {
	if id == "" {
		return ""
	}
	return id + "#" + strconv.Itoa(n)
}

// bytesText writes a number of bytes for a message.
func bytesText(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// clip cuts s to n runes for a message.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
