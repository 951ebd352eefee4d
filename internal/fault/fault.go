// Package fault has common parts of the errors of package engine and of the packages below it: [ErrInvalid],
// which users know as engine.ErrInvalid, and [Clip], which shortens a text for a message.
package fault

import "errors"

// ErrInvalid means that input can never be right. Users know it as engine.ErrInvalid.
var ErrInvalid = errors.New("invalid input")

// Errors that package engine exports under the same names.
var (
	ErrExists    = errors.New("exists already")
	ErrNoEncoder = errors.New("no encoder: open the database with one")
)

// Clip returns s for a message: all of it, or the first 80 bytes and an
// ellipsis.
func Clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
