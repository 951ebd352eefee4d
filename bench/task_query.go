package bench

import (
	"fmt"
	"slices"
	"strings"
)

// JudgedQueries uses the corpus's own queries that have a passage judged above zero (tasks.md
// "query"). With a limit, a sample is drawn. In a union of corpora, "query:NAME" uses those of one
// folder.
var _ = RegisterTask(TaskKind{
	Name:  "query",
	Usage: "query[:NAME]",
	Doc:   "the judged queries of the corpus, or of one folder of a union",
	Make: func(arg string, in TaskInput) (*Task, error) {
		queries := in.Corpus.Queries
		if arg != "" {
			queries = slices.DeleteFunc(slices.Clone(queries), func(q Query) bool { return !strings.HasPrefix(q.ID, arg+":") })
			if len(queries) == 0 {
				return nil, fmt.Errorf("%w: no query of a folder %q; a union of folders has query:NAME", ErrUnknownName, arg)
			}
		}
		return judgedTask(in, queries), nil
	},
})
