package bench

import (
	"fmt"
	"slices"
	"strings"
)

// JudgedQueries asks the queries that come with the corpus and have a passage
// judged above zero (tasks.md "query"). With a limit, a sample is drawn. In a
// union of corpora "query:NAME" asks those of one of its folders.
var JudgedQueries = RegisterTask(TaskKind{
	Name:  "query",
	Usage: "query[:NAME]",
	Doc:   "the judged queries of the corpus, or of one folder of a union",
	Make: func(arg string, in TaskInput) (*Task, error) {
		t := &Task{Qrels: Qrels{}, Judged: true}
		all := in.Corpus.Queries
		of := func(q Query) bool { return arg == "" || strings.HasPrefix(q.ID, arg+":") }
		if arg != "" && !slices.ContainsFunc(all, of) {
			return nil, fmt.Errorf("%w: no query of a folder %q; a union of folders has query:NAME", ErrUnknownName, arg)
		}
		for _, i := range newRand(in.Seed, "query", "order").Perm(len(all)) {
			q := all[i]
			if !of(q) {
				continue
			}
			if !in.Corpus.Qrels.HasPositive(q.ID) {
				t.LeftOut++
				continue
			}
			if in.Limit > 0 && len(t.Queries) >= in.Limit {
				continue
			}
			t.Queries = append(t.Queries, q)
			t.Qrels[q.ID] = in.Corpus.Qrels[q.ID]
		}
		sortQueries(t.Queries)
		return t, nil
	},
})
