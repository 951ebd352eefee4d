package bench

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/random"
)

// OtherQueries uses the queries of a file queries-NAME.jsonl next to queries.jsonl, with the same ids
// and judgements. Examples are fewer keyphrases of the same documents, or the same questions in
// another language. Queries without a positive are left out and counted.
var _ = RegisterTask(TaskKind{
	Name:  "queries",
	Usage: "queries:NAME",
	Doc:   "the queries of queries-NAME.jsonl with the judgements of the corpus",
	Make: func(arg string, in TaskInput) (*Task, error) {
		if arg == "" || strings.ContainsAny(arg, `/\`) {
			return nil, fmt.Errorf("%w: queries:%s names no file; write queries:NAME for queries-NAME.jsonl", ErrUnknownName, arg)
		}
		if in.Corpus.Dir == "" {
			return nil, fmt.Errorf("%w: queries:%s stands beside a corpus folder, which a union or a single file is not", ErrUnknownName, arg)
		}
		queries, err := readQueries(in.Read, filepath.Join(in.Corpus.Dir, "queries-"+arg+".jsonl"))
		if err != nil {
			return nil, err
		}
		return judgedTask(in, queries), nil
	},
})

// judgedTask uses the queries that have a positive; with a limit, a sample of them.
func judgedTask(in TaskInput, queries []Query) *Task {
	t := &Task{Qrels: Qrels{}, Judged: true, Own: map[string]struct{}{}, KeepSelf: in.KeepSelf}
	for _, i := range random.New(in.Seed, "query", "order").Perm(len(queries)) {
		q := queries[i]
		if !in.Asks(q.ID) {
			continue
		}
		if !in.Corpus.Qrels.HasPositive(q.ID) {
			t.LeftOut++
			if len(in.Corpus.Qrels[q.ID]) > 0 {
				t.NoPositive++
			}
			continue
		}
		if in.Limit > 0 && len(t.Queries) >= in.Limit {
			continue
		}
		t.Queries = append(t.Queries, q)
		t.Qrels[q.ID] = in.Corpus.Qrels[q.ID]
		for passage := range t.Qrels[q.ID] {
			if _, absent := in.Corpus.absent[passage]; absent {
				t.Absent++
			}
		}
		if _, own := in.Corpus.own[q.ID]; own {
			t.Own[q.ID] = struct{}{}
		}
	}
	sortQueries(t.Queries)
	return t
}
