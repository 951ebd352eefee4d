package bench

import (
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/bench/random"
)

// Unanswered adds queries about other subjects to the judged ones, those of another folder, as many as there are judged
// ones if it has as many. No passage is relevant to them: ece counts them, and metrics of positives leave them out.
var _ = RegisterTask(TaskKind{
	Name:  "unanswered",
	Usage: "unanswered:FOLDER",
	Doc:   "the judged queries, and as many of FOLDER/queries.jsonl, which the corpus does not answer: for ece",
	Make: func(arg string, in TaskInput) (*Task, error) {
		if arg == "" {
			return nil, fmt.Errorf("%w: unanswered names no folder; write unanswered:FOLDER for FOLDER/queries.jsonl", ErrUnknownName)
		}
		t, err := MakeTask("query", in)
		if err != nil {
			return nil, err
		}
		others, err := readQueries(in.Read, filepath.Join(arg, "queries.jsonl"))
		if err != nil {
			return nil, err
		}
		order := random.New(in.Seed, "unanswered", "order").Perm(len(others))
		for _, i := range order[:min(len(t.Queries), len(others))] {
			q := others[i]
			q.ID = "unanswered:" + q.ID
			if _, again := t.Qrels[q.ID]; again {
				return nil, fmt.Errorf("%w: query %q of %s is also one of the corpus; name another folder", ErrDuplicateID, q.ID, arg)
			}
			t.Queries, t.Qrels[q.ID] = append(t.Queries, q), map[string]int{}
		}
		sortQueries(t.Queries)
		return t, nil
	},
})
