package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/rerank"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/store"
)

// Exit codes of the program.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitLocked      = 4
	exitCorrupt     = 5
	exitMismatch    = 6
	exitUnavailable = 7
	exitInterrupted = 130
)

const exitCodesText = "0 ok · 1 failure · 2 usage · 3 not found · 4 locked by another process · 5 corrupt · " +
	"6 model, bridge or dimension does not match · 7 runtime or model unavailable · 130 interrupted"

// exitCode maps an error to the program's exit code.
func exitCode(err error) int {
	var u *usageError
	var f *filter.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &u), errors.As(err, &f), errors.Is(err, engine.ErrForeign), errors.Is(err, engine.ErrOccupied):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, store.ErrLocked):
		return exitLocked
	case errors.Is(err, store.ErrCorrupt):
		return exitCorrupt
	case errors.Is(err, encoder.ErrMismatch), errors.Is(err, store.ErrVersion), errors.Is(err, store.ErrDimension):
		return exitMismatch
	case errors.Is(err, engine.ErrBackup):
		return exitCorrupt
	case errors.Is(err, encoder.ErrUnavailable), errors.Is(err, encoder.ErrSource), errors.Is(err, engine.ErrReranker), errors.Is(err, rerank.ErrServer):
		return exitUnavailable
	case errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrNotFitted), errors.Is(err, bench.ErrNoData):
		return exitNotFound
	}
	return exitFailure
}

// usageError says that the command line itself is wrong.
type usageError struct{ msg, hint string }

func usagef(format string, args ...any) *usageError {
	return &usageError{msg: fmt.Sprintf(format, args...)}
}

func (e *usageError) Error() string { return e.msg }

// hintError adds a remedy that is printed on its own line.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

func hinted(err error, hint string) error { return &hintError{err, hint} }

// summaryOf returns the text after "lexsem:" on the line of an error.
func summaryOf(err error) string {
	if m, ok := errors.AsType[*provision.MissingError](err); ok {
		var what []string
		for _, x := range m.Missing {
			what = append(what, x.Artifact)
		}
		s := "this machine lacks " + strings.Join(what, " and ") + ", and every attempt to get it failed"
		if m.Offline {
			s = "this machine lacks " + strings.Join(what, " and ") + ", and --offline downloads nothing"
		}
		return s
	}
	if f, ok := errors.AsType[*filter.Error](err); ok {
		return oneLine(f.Summary())
	}
	s := oneLine(err.Error())
	if errors.Is(err, context.Canceled) {
		s = strings.ReplaceAll(s, context.Canceled.Error(), "interrupted")
	}
	return s
}

// detailsOf returns more lines for errors that need them: all attempts to find a runtime
// or model, and the position of an error in a filter.
func detailsOf(err error) []string {
	if f, ok := errors.AsType[*filter.Error](err); ok {
		return strings.Split(f.Caret(), "\n")
	}
	var m *provision.MissingError
	if !errors.As(err, &m) {
		return nil
	}
	var out []string
	for _, x := range m.Missing {
		for _, t := range x.Attempts {
			out = append(out, oneLine(fmt.Sprintf("%s by %s: %v", x.Artifact, t.Route, t.Reason)))
		}
	}
	return out
}

// hintOf returns the remedy to print below an error, or "".
func hintOf(err error) string {
	if h, ok := errors.AsType[*hintError](err); ok {
		return h.hint
	}
	if u, ok := errors.AsType[*usageError](err); ok {
		return u.hint
	}
	var m *provision.MissingError
	if errors.As(err, &m) && len(m.Missing) > 0 {
		var remedies []string
		for _, x := range m.Missing {
			if !slices.Contains(remedies, x.Remedy) {
				remedies = append(remedies, x.Remedy)
			}
		}
		hint := strings.Join(remedies, "; ")
		if m.Offline {
			hint = "run `lexsem setup` once without --offline; or " + hint
		}
		return hint
	}
	if errors.Is(err, encoder.ErrSource) || errors.Is(err, engine.ErrReranker) { // whose own words hold the remedy
		return ""
	}
	switch exitCode(err) {
	case exitLocked:
		return "another lexsem process has the database open; wait for it to end, or close it"
	case exitCorrupt:
		if errors.Is(err, engine.ErrBackup) { // whose own words hold the remedy
			return ""
		}
		return "`lexsem doctor --db DIR` shows the damage, and --repair saves what can be read"
	case exitMismatch:
		if errors.Is(err, store.ErrVersion) { // whose own words hold the remedy
			return ""
		}
		return "leave --model out to use the database's own model, or index into a new folder; --accept-model accepts a model whose vectors differ a little"
	case exitUnavailable:
		return "`lexsem setup` downloads what is missing; `lexsem doctor` shows where it was searched"
	}
	if errors.Is(err, engine.ErrMemory) {
		return "raise --max-memory, or delete documents; `lexsem stats` shows what takes the memory"
	}
	switch {
	case errors.Is(err, engine.ErrNoSpace):
		return "`df -h DIR` and `df -i DIR` show how many bytes and files have room"
	case errors.Is(err, syscall.EROFS):
		return "the disk is mounted read-only; there, searches, stats, export and `lexsem serve --read-only` work"
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() >= 0:
		return fmt.Sprintf("this command runs as user %d; let that user have the folder (chown -R %[1]d DIR), or run it as the owner", os.Geteuid())
	}
	if errors.Is(err, engine.ErrNotFitted) {
		return "`lexsem fit --db DIR` fits it"
	}
	return ""
}
