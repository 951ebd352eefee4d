package mcp

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// remedies says for each kind of error what whoever called the tool can do. The first
// that fits is taken. quiet ones are told without their own words, which may speak of the
// machine (paths, addresses): the log has these.
var remedies = []struct {
	is     error
	remedy string
	quiet  bool
}{
	{is: context.Canceled, remedy: "the call was cancelled", quiet: true},
	{is: context.DeadlineExceeded, remedy: "it took too long; ask for less, by a smaller limit or a filter", quiet: true},
	{is: engine.ErrNotFound, remedy: "search finds ids by what a document says, list shows them all"},
	{is: engine.ErrNotFitted, remedy: "leave variant out for the best that there is, or ask for none"},
	{is: engine.ErrNoEncoder, remedy: "this database is open without its model; use mode lexical"},
	{is: engine.ErrReadOnly, remedy: "documents cannot be stored here; whoever runs this server can start it for writing", quiet: true},
	{is: engine.ErrInvalid},
	{is: engine.ErrNoSpace, remedy: "the disk is full; whoever runs this server must make room", quiet: true},
	{is: engine.ErrMemory, remedy: "the database has no room in memory for more; delete documents, or whoever runs this server can raise its limit", quiet: true},
	{is: engine.ErrCorrupt, remedy: "what is stored is damaged. What is derived is made anew by itself: try again in a moment; if it stays, whoever runs this server can check the database", quiet: true},
	{is: engine.ErrClosed, remedy: "the server is ending; start it again", quiet: true},
	{is: engine.ErrReranker, remedy: "the reranker of this server does not answer as it should; try again later", quiet: true},
	{is: encoder.ErrUnavailable, remedy: "the model or its runtime is missing on the server; mode lexical does without", quiet: true},
	{is: encoder.ErrSource, remedy: "the source of the model's vectors does not answer as it should; mode lexical does without, or try again later", quiet: true},
}

// filterHelp is how filters are written.
const filterHelp = `filters compare fields of metadata: lang = "go" and year >= 2020; operators = != < <= > >= ^= (prefix) in ["a", "b"], exists field, and, or, not; dots reach into objects`

// advice is what a caller is told of an error: what is wrong, and what to do.
func (s *Server) advice(err error) string {
	var f *filter.Error
	if errors.As(err, &f) {
		return err.Error() + "\n" + filterHelp
	}
	var wrong *inputError
	if errors.As(err, &wrong) {
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
	return "the database failed; the log of the server says why"
}
