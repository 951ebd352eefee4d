package bench

// JudgedQueries asks the queries that come with the corpus and have a passage
// judged above zero (tasks.md "query"). With a limit, a sample is drawn.
var JudgedQueries = registerTask(TaskKind{
	Name:  "query",
	Usage: "query",
	Doc:   "the judged queries of the corpus",
	Make: func(arg string, in TaskInput) (*Task, error) {
		if err := noArgument(arg); err != nil {
			return nil, err
		}
		t := &Task{Qrels: Qrels{}, Judged: true}
		all := in.Corpus.Queries
		for _, i := range newRand(in.Seed, "query", "order").Perm(len(all)) {
			q := all[i]
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
