// Package kinds sorts tasks by how their queries ask, and weights them in means over corpora.
package kinds

import (
	"slices"
	"strings"
)

// All are the kinds of queries that means over several corpora weight separately.
var All = []string{"questions", "keywords", "spans", "verbose"}

// families lists, for each kind, the task families whose queries ask alike.
var families = map[string][]string{
	"questions": {"query"},
	"keywords":  {"keyword", "keyword-rake", "keyword-yake", "queries"},
	"spans":     {"part"},
	"verbose":   {"verbose"},
}

// Of returns the kind of the queries of a task, or "" if it has none.
func Of(task string) string {
	family, _, _ := strings.Cut(task, ":")
	for _, kind := range All {
		if slices.Contains(families[kind], family) {
			return kind
		}
	}
	return ""
}

// Name names a task of a corpus.
type Name struct {
	Corpus string `json:"corpus"`
	Task   string `json:"task"`
}

// Weights returns the weights of tasks in a mean over corpora. Every kind of query has equal
// weight, within a kind every corpus, within a corpus every task.
func Weights(of []Name) []float64 {
	type group struct{ kind, corpus string }
	tasks, corpora := map[group]int{}, map[string]int{}
	for _, t := range of {
		g := group{Of(t.Task), t.Corpus}
		if tasks[g]++; tasks[g] == 1 {
			corpora[g.kind]++
		}
	}
	out := make([]float64, len(of))
	for i, t := range of {
		g := group{Of(t.Task), t.Corpus}
		out[i] = 1 / float64(corpora[g.kind]*tasks[g])
	}
	return out
}
