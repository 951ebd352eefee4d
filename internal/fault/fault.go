// Package fault has common parts of the errors of package engine and of the packages below it: [ErrInvalid],
// which users know as engine.ErrInvalid, [Clip], which shortens a text for a message, [Recovered], which makes an error of a
// panic, and [Folder], which refuses a path that is missing.
package fault

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrInvalid means that input can never be right. Users know it as engine.ErrInvalid.
var ErrInvalid = errors.New("invalid input")

// Errors that package engine exports under the same names.
var (
	ErrExists    = errors.New("exists already")
	ErrNoEncoder = errors.New("no encoder: open the database with one")
)

// Folder is the absolute path of a folder, since the process may change its own. "" is an ErrInvalid: filepath.Abs takes it
// for the folder of the process, and a program that has not set its path would make or remove a database there.
func Folder(dir string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("%w: no folder for the database; name one", ErrInvalid)
	}
	return filepath.Abs(dir)
}

// Clip returns s for a message: all of it, or the first 80 bytes and an
// ellipsis.
func Clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// Recovered, deferred, makes an error that wraps kind of a panic, and names the place. It is for code that users give,
// such as an encoder: it runs in goroutines of ours, where no caller could recover the panic.
func Recovered(err *error, kind error) {
	r := recover()
	if r == nil {
		return
	}
	place, stack := "", make([]uintptr, 16)
	for frames := runtime.CallersFrames(stack[:runtime.Callers(2, stack)]); place == ""; {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			place = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
	*err = fmt.Errorf("%w: panic at %s: %v", kind, place, r)
}
