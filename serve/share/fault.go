package share

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// sentinels are the errors that callers test for with errors.Is, by their names in a
// transfer.
var sentinels = map[string]error{
	"not found": engine.ErrNotFound, "no database": engine.ErrNoDatabase, "no export": archive.ErrNoExport, "exists": engine.ErrExists, "invalid": engine.ErrInvalid, "no encoder": engine.ErrNoEncoder,
	"not fitted": engine.ErrNotFitted, "closed": engine.ErrClosed, "corrupt": engine.ErrCorrupt, "foreign": engine.ErrForeign,
	"locked": engine.ErrLocked, "no space": engine.ErrNoSpace, "memory": engine.ErrMemory, "backup": engine.ErrBackup, "other backup": engine.ErrOtherBackup,
	"occupied": engine.ErrOccupied, "read only": engine.ErrReadOnly, "encoder contract": engine.ErrEncoder,
	"no reranker": engine.ErrNoReranker, "reranker": engine.ErrReranker, "elsewhere": engine.ErrElsewhere, "backend": engine.ErrBackend,

	"store version": store.ErrVersion, "store dimension": store.ErrDimension, "store failed": store.ErrFailed, "store too large": store.ErrTooLarge,
	"store unclean": store.ErrUnclean, "store handed over": store.ErrHandedOver, "store manifest": store.ErrManifest,
	"encoder unavailable": encoder.ErrUnavailable, "encoder source": encoder.ErrSource, "encoder mismatch": encoder.ErrMismatch,
	"encoder no logits": encoder.ErrNoLogits, "encoder no hidden": encoder.ErrNoHidden, "encoder closed": encoder.ErrClosed,
	"unknown variant": modulate.ErrUnknownVariant, "modulate options": modulate.ErrOptions, "bridge no encoder": modulate.ErrNoEncoder, "bridge corrupt": modulate.ErrCorrupt,

	"canceled": context.Canceled, "deadline": context.DeadlineExceeded,
	"file exists": fs.ErrExist, "no file": fs.ErrNotExist, "permission": fs.ErrPermission, "unexpected end": io.ErrUnexpectedEOF,
}

// fault is the transferred form of an error: its text, the sentinels that errors.Is finds
// in it, and the parts that errors.As finds.
type fault struct {
	Text     string
	Is       []string
	Document *faultAt
	Query    *faultAt
	Line     *faultAt
	Mismatch *faultMismatch
	Filter   *filter.Error
}

type faultAt struct {
	At    int
	ID    string
	Cause fault
}

type faultMismatch struct {
	What       string
	Want, Got  encoder.Fingerprint
	Difference []string
}

// faultOf returns nil for nil.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	for name, s := range sentinels {
		if errors.Is(err, s) {
			f.Is = append(f.Is, name)
		}
	}
	cause := func(err error) fault {
		if c := faultOf(err); c != nil {
			return *c
		}
		return fault{}
	}
	if d, ok := errors.AsType[*engine.DocumentError](err); ok {
		f.Document = &faultAt{d.Position, d.ID, cause(d.Err)}
	}
	if q, ok := errors.AsType[*engine.QueryError](err); ok {
		f.Query = &faultAt{At: q.Position, Cause: cause(q.Err)}
	}
	if l, ok := errors.AsType[*archive.LineError](err); ok {
		f.Line = &faultAt{At: l.Line, Cause: cause(l.Err)}
	}
	if m, ok := errors.AsType[*encoder.MismatchError](err); ok {
		f.Mismatch = &faultMismatch{m.What, m.Want, m.Got, m.Difference}
	}
	errors.As(err, &f.Filter)
	return f
}

// error restores the error given to faultOf, as far as errors.Is, errors.As and its text
// show.
func (f *fault) error() error {
	if f == nil {
		return nil
	}
	r := &remoteError{text: f.Text}
	add := func(err error) { r.wraps = append(r.wraps, err) }
	if f.Document != nil {
		add(&engine.DocumentError{Position: f.Document.At, ID: f.Document.ID, Err: f.Document.Cause.error()})
	}
	if f.Query != nil {
		add(&engine.QueryError{Position: f.Query.At, Err: f.Query.Cause.error()})
	}
	if f.Line != nil {
		add(&archive.LineError{Line: f.Line.At, Err: f.Line.Cause.error()})
	}
	if m := f.Mismatch; m != nil {
		add(&encoder.MismatchError{What: m.What, Want: m.Want, Got: m.Got, Difference: m.Difference})
	}
	if f.Filter != nil {
		add(f.Filter)
	}
	for _, name := range f.Is {
		if s := sentinels[name]; s != nil {
			add(s)
		}
	}
	for _, e := range r.wraps {
		whole := e.Error() == f.Text
		for _, other := range r.wraps {
			whole = whole && errors.Is(e, other)
		}
		if whole { // the error itself
			return e
		}
	}
	return r
}

// remoteError is an error of the holder.
type remoteError struct {
	text  string
	wraps []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.wraps }
