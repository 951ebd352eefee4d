package mcp

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// remedies says for each kind of error what the caller of the tool can do. The first
// match counts. quiet errors are reported without their own text, which may mention the
// machine (paths, addresses); the log has that text.
var remedies = []struct {
	is     error
	remedy string
	quiet  bool
}{
	{is: context.Canceled, remedy: "the call was cancelled", quiet: true},
	{is: context.DeadlineExceeded, remedy: "the call took too long; ask for fewer hits or use a filter", quiet: true},
	{is: engine.ErrNotFound, remedy: "use search or list to find ids"},
	{is: engine.ErrNotFitted, remedy: "leave variant out, or use none"},
	{is: engine.ErrNoEncoder, remedy: "the database is open without its model; use mode lexical"},
	{is: engine.ErrReadOnly, remedy: "documents cannot be stored: the server is read-only; its operator can allow writes", quiet: true},
	{is: engine.ErrInvalid},
	{is: engine.ErrNoSpace, remedy: "the disk is full; the operator of the server must free space", quiet: true},
	{is: engine.ErrMemory, remedy: "the memory limit of the database is reached; documents must be deleted, or the operator of the server must raise the limit", quiet: true},
	{is: engine.ErrCorrupt, remedy: "stored data is damaged. Derived data is rebuilt automatically: try again in a moment; if the error stays, the operator of the server must check the database", quiet: true},
	{is: engine.ErrClosed, remedy: "the server is stopping; start it again", quiet: true},
	{is: engine.ErrReranker, remedy: "the reranker of the server failed; try again later", quiet: true},
	{is: encoder.ErrUnavailable, remedy: "the model or its runtime is missing on the server; mode lexical needs no model", quiet: true},
	{is: encoder.ErrSource, remedy: "the server that computes vectors failed; try again later, or use mode lexical", quiet: true},
}

// filterHelp explains how to write filters.
const filterHelp = `filters compare fields of metadata: lang = "go" and year >= 2020; operators = != < <= > >= ^= (prefix) in ["a", "b"], exists field, and, or, not; timestamps are compared as instants: time >= now-7d; dots name fields of nested objects; id is the document's id, metadata.id a metadata field of that name`

// advice is the message to a caller about an error: what is wrong, and what to do.
func (s *Server) advice(err error) string {
	var f *filter.Error
	if errors.As(err, &f) && f.Of == "" {
		return err.Error() + "\n" + filterHelp
	}
	if wrong, ok := errors.AsType[*inputError](err); ok {
		return wrong.msg
	}
	for _, r := range remedies {
		switch {
		case !errors.Is(err, r.is):
			continue
		case r.quiet:
			s.o.Logger.Warn("a call failed", "error", err)
			return r.remedy
		case r.remedy == "":
			return err.Error()
		}
		return err.Error() + "\n" + r.remedy
	}
	s.o.Logger.Error("a call failed", "error", err)
	return "the database failed; see the log of the server"
}
