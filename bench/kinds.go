package bench

import (
	"slices"
	"strings"
)

// QueryKinds are the kinds of queries that means over several corpora weight separately.
var QueryKinds = []string{"questions", "keywords", "spans", "verbose"}

// families of tasks that ask alike, by kind.
var families = map[string][]string{
	"questions": {"query"},
	"keywords":  {"keyword", "keyword-rake", "keyword-yake", "queries"},
	"spans":     {"part"},
	"verbose":   {"verbose"},
}

// KindOf returns the kind of the queries of a task, or "" if it has none.
func KindOf(task string) string {
	family, _, _ := strings.Cut(task, ":")
	for _, kind := range QueryKinds {
		if slices.Contains(families[kind], family) {
			return kind
		}
	}
	return ""
}

// TaskName names a task of a corpus.
type TaskName struct {
	Corpus string `json:"corpus"`
	Task   string `json:"task"`
}

// TaskWeights returns the weights of tasks in a mean over corpora. Every kind of query has equal
// weight, within a kind every corpus, within a corpus every task.
func TaskWeights(of []TaskName) []float64 {
	type group struct{ kind, corpus string }
	tasks, corpora := map[group]int{}, map[string]int{}
	for _, t := range of {
		g := group{KindOf(t.Task), t.Corpus}
		if tasks[g]++; tasks[g] == 1 {
			corpora[g.kind]++
		}
	}
	out := make([]float64, len(of))
	for i, t := range of {
		g := group{KindOf(t.Task), t.Corpus}
		out[i] = 1 / float64(corpora[g.kind]*tasks[g])
	}
	return out
}
