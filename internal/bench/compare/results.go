// Package compare tells which differences between two reports of the bench are significant ([Compare]), and makes one
// table over several corpora ([Summarize]). Reports that cannot be compared are an error, and so is a report without
// the scores of single queries. Intervals and p values are deterministic for a seed.
package compare

import (
	"errors"
	"slices"

	"github.com/lexsem/lexsem/bench"
)

// ErrReport: a file is not a JSON report of the bench, or reports cannot be compared.
var ErrReport = errors.New("bad report")

// Tasks lists the tasks of results in order.
func Tasks(results []bench.Result) []string {
	var out []string
	for _, r := range results {
		if !slices.Contains(out, r.Task) {
			out = append(out, r.Task)
		}
	}
	return out
}

// Systems lists the systems of results in order.
func Systems(results []bench.Result) []string {
	var out []string
	for _, r := range results {
		if !slices.Contains(out, r.System) {
			out = append(out, r.System)
		}
	}
	return out
}

// Find returns the result of a system on a task, or nil.
func Find(results []bench.Result, system, task string) *bench.Result {
	for i := range results {
		if results[i].System == system && results[i].Task == task {
			return &results[i]
		}
	}
	return nil
}

// Queries returns the ids of the queries of a task.
func Queries(r *bench.Report, task string) []string {
	i := slices.IndexFunc(r.Tasks, func(t bench.TaskQueries) bool { return t.Task == task })
	if i < 0 {
		return nil
	}
	return r.Tasks[i].Queries
}
