package mcp

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// remedies says for each kind of error what whoever called the tool can do. The first
// that fits is taken.
var remedies = []struct {
	is     error
	remedy string
}{
	{engine.ErrNotFound, "search finds ids by what a document says, list shows them all"},
	{engine.ErrNotFitted, "leave variant out for the best that there is, or ask for none"},
	{engine.ErrNoEncoder, "this database is open without its model; use mode lexical"},
	{encoder.ErrUnavailable, "the model does not answer; mode lexical does without it"},
	{encoder.ErrSource, "the model does not answer; mode lexical does without it, or try again later"},
	{engine.ErrReadOnly, "documents cannot be stored here; the person who runs this server can start it for writing"},
	{engine.ErrNoSpace, "the disk is full; the person who runs this server must make room"},
	{engine.ErrCorrupt, "try again in a moment; if it stays, the person who runs this server can check the database by `lexsem doctor`"},
	{engine.ErrClosed, "the server is ending; start it again"},
	{context.DeadlineExceeded, "it took too long; ask for less, by a smaller limit or a filter"},
}

// filterHelp is how filters are written.
const filterHelp = `filters compare fields of metadata: lang = "go" and year >= 2020; operators = != < <= > >= ^= (prefix) in ["a", "b"], exists field, and, or, not; dots reach into objects`

// advice is what a caller is told of an error: what is wrong, and what to do.
func advice(err error) string {
	var f *filter.Error
	if errors.As(err, &f) {
		return err.Error() + "\n" + filterHelp
	}
	for _, r := range remedies {
		if errors.Is(err, r.is) {
			return err.Error() + "\n" + r.remedy
		}
	}
	return err.Error()
}
