package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// Error describes a failed request in the form of its answer. The codes are part of the API: new ones
// may be added, and existing ones do not change.
type Error struct {
	Status  int    // of HTTP
	Code    string // one of the table in docs/http.md
	Message string // for people; names the input and the remedy
	Param   string // the field that is wrong, "" where none is
	// At is the position of a refused document in the request, from 0, or the line of NDJSON, from 1; nil
	// if it is not known. ID is the id of that document.
	At *int
	ID string
	// Stored is what an NDJSON request stored before the error; nil for other requests.
	Stored *Stored

	cause error
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the cause, or nil if the request itself is at fault.
func (e *Error) Unwrap() error { return e.cause }

// statusCancelled is the status in the log for a request whose client disconnected; no client
// receives it.
const statusCancelled = 499

// sentinels is the only table that maps errors of lower layers to answers. The first match counts.
// quiet errors may mention this machine (paths, addresses of sources): clients get the text of the
// table, and the log gets the error.
var sentinels = []struct {
	err    error
	status int
	code   string
	quiet  string
}{
	{err: context.Canceled, status: statusCancelled, code: "cancelled"},
	{err: context.DeadlineExceeded, status: http.StatusGatewayTimeout, code: "timeout", quiet: "the request took longer than the server allows; ask for less at a time"},
	{err: engine.ErrNotFound, status: http.StatusNotFound, code: "not_found"},
	{err: engine.ErrExists, status: http.StatusConflict, code: "exists"},
	{err: engine.ErrNotFitted, status: http.StatusConflict, code: "not_fitted"},
	{err: engine.ErrReadOnly, status: http.StatusForbidden, code: "read_only", quiet: "the server was started read-only"},
	{err: engine.ErrNoEncoder, status: http.StatusNotImplemented, code: "no_encoder", quiet: "the server has no encoder; send vectors, or use mode lexical"},
	{err: engine.ErrNoReranker, status: http.StatusNotImplemented, code: "no_reranker", quiet: "the server has no reranker; leave rerank out"},
	{err: engine.ErrElsewhere, status: http.StatusNotImplemented, code: "elsewhere", quiet: "another search engine keeps the documents, and only that engine can do this"},
	{err: engine.ErrBackend, status: http.StatusBadGateway, code: "backend", quiet: "the search engine behind the server failed; see the server's log"},
	{err: encoder.ErrMedia, status: http.StatusBadRequest, code: "invalid"},
	{err: engine.ErrInvalid, status: http.StatusBadRequest, code: "invalid"},
	{err: engine.ErrForeign, status: http.StatusConflict, code: "foreign", quiet: "the folder of this collection holds other files; choose another name"},
	{err: engine.ErrNoSpace, status: http.StatusInsufficientStorage, code: "no_space", quiet: "the server's disk is full; documents can still be deleted"},
	{err: engine.ErrMemory, status: http.StatusInsufficientStorage, code: "memory", quiet: "the memory limit of the database is reached; delete documents, or let the operator raise the limit"},
	{err: engine.ErrCorrupt, status: http.StatusInternalServerError, code: "corrupt", quiet: "stored data is damaged; see the server's log. Derived data is rebuilt automatically: try again soon"},
	{err: engine.ErrLocked, status: http.StatusServiceUnavailable, code: "locked", quiet: "another process has the database open; try again later"},
	{err: engine.ErrClosed, status: http.StatusServiceUnavailable, code: "closing", quiet: "the server is closing; try again later"},
	{err: encoder.ErrClosed, status: http.StatusServiceUnavailable, code: "closing", quiet: "the server is closing; try again later"},
	{err: engine.ErrReranker, status: http.StatusBadGateway, code: "reranker", quiet: "the reranker behind the server failed; see the server's log. Set rerank to -1 to search without it"},
	{err: encoder.ErrUnavailable, status: http.StatusServiceUnavailable, code: "encoder_unavailable", quiet: "the model or its runtime is missing on the server; use mode lexical, or let the operator run lexsem setup"},
	{err: encoder.ErrSource, status: http.StatusBadGateway, code: "encoder_source", quiet: "the server that computes vectors failed; see this server's log"},
	{err: encoder.ErrMismatch, status: http.StatusInternalServerError, code: "mismatch", quiet: "the server's encoder is not the encoder of the database; the operator must start it with the right model"},
	{err: engine.ErrEncoder, status: http.StatusInternalServerError, code: "encoder_failed", quiet: "the server's encoder failed; see the server's log"},
}

// errorOf is err in the form for an answer.
func errorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	out := &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the server failed; its log has the cause under the id of this request", cause: err}
	for _, s := range sentinels {
		if !errors.Is(err, s.err) {
			continue
		}
		out.Status, out.Code, out.Message = s.status, s.code, err.Error()
		if s.quiet != "" {
			out.Message = s.quiet
		}
		break
	}
	if x, ok := errors.AsType[interface {
		error
		Entry() string
	}](err); ok && out.Code == "foreign" {
		out.Message = fmt.Sprintf("in the folder of the database something else has the name %s; nothing was changed; let the operator move it elsewhere", x.Entry())
	}
	if f, ok := errors.AsType[*filter.Error](err); ok {
		out.Status, out.Code, out.Message, out.Param = http.StatusBadRequest, "invalid_filter", f.Summary(), "filter"
		if f.Of != "" {
			out.Code, out.Param = "invalid", f.Of
		}
	}
	if d, ok := errors.AsType[*engine.DocumentError](err); ok {
		out.At, out.ID = &d.Position, d.ID
	}
	return out
}

// kindOf is the type of an error in OpenAI's API; its clients choose their exceptions by status and
// show the type.
func kindOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusNotFound:
		return "not_found_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// errorAnswer is the body of every error answer, in two shapes: this project's
// {"error":{"code","message"}} and that of OpenAI's API.
type errorAnswer struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	At      *int    `json:"at,omitempty"`
	ID      string  `json:"id,omitempty"`
	Request string  `json:"request,omitempty"`
	Stored  *Stored `json:"stored,omitempty"`
}

func (e *Error) body(request string) errorAnswer {
	b := errorBody{Code: e.Code, Message: e.Message, Type: kindOf(e.Status), At: e.At, ID: e.ID, Request: request, Stored: e.Stored}
	if e.Param != "" {
		b.Param = &e.Param
	}
	return errorAnswer{b}
}

func refuse(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalid refuses the value of a field.
func invalid(param, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid", Message: fmt.Sprintf(format, args...), Param: param}
}
