package bench

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/train"
)

// overlapRun is the number of consecutive words that a query must share with another query of its
// passage to count in an Overlap. A shorter query must share all its words.
const overlapRun = 6

// overlapShares says how much text the queries of a task share with the training queries of bridges. Taught,
// Whole and Chosen are shares of Queries, in [0, 1]. Each query is compared only with training queries
// of its own passage.
type overlapShares struct {
	Task    string `json:"task"`
	Queries int    `json:"queries"`
	// Taught is the share of queries that share overlapRun consecutive words with a training query.
	// Whole is the share of queries that are contained in a training query as a whole.
	Taught float64 `json:"taught"`
	Whole  float64 `json:"whole"`
	// Chosen is the share of queries that share overlapRun consecutive words with a query that chose
	// the epoch.
	Chosen float64 `json:"chosen"`
}

// measureOverlap compares the queries of a task made from the targets with training queries drawn from
// the same targets. Cost O(words).
func measureOverlap(task *Task, targets *Targets, taught, chosen []train.Drawn) overlapShares {
	o := overlapShares{Task: task.Name, Queries: len(task.Queries)}
	byPassage := func(drawn []train.Drawn) map[string][]string {
		m := map[string][]string{}
		for _, d := range drawn {
			m[targets.ID(d.Passage)] = append(m[targets.ID(d.Passage)], d.Query)
		}
		return m
	}
	taughtOf, chosenOf := byPassage(taught), byPassage(chosen)
	for _, q := range task.Queries {
		if shares(q.Text, taughtOf[q.ID], overlapRun) {
			o.Taught++
		}
		if shares(q.Text, taughtOf[q.ID], 0) {
			o.Whole++
		}
		if shares(q.Text, chosenOf[q.ID], overlapRun) {
			o.Chosen++
		}
	}
	for _, x := range []*float64{&o.Taught, &o.Whole, &o.Chosen} {
		*x /= float64(max(1, o.Queries))
	}
	return o
}

// shares reports whether probe and one of queries have a run of n words in common. If probe has fewer words,
// or n is 0, the run is all words of probe.
func shares(probe string, queries []string, n int) bool {
	words := len(text.Words(nil, probe))
	if n == 0 || n > words {
		n = words
	}
	if n == 0 {
		return false
	}
	runs := train.Runs(probe, n)
	for _, q := range queries {
		for run := range train.Runs(q, n) {
			if _, ok := runs[run]; ok {
				return true
			}
		}
	}
	return false
}

// overlaps measures the overlap with training queries for each task made from passages and each system
// trained on queries.
func (p *plan) overlaps(ctx context.Context, s *Setting, report *Report) error {
	taughtAny := false
	for _, f := range report.Fit {
		taughtAny = taughtAny || f.Queries > 0
	}
	if !taughtAny {
		return nil
	}
	t, err := s.teacher(ctx)
	if err != nil {
		return err
	}
	taught, chosen, err := train.Draw(ctx, settingCorpus{t}, t.fitOptions())
	if err != nil {
		return fmt.Errorf("drawing the training queries again: %w", err)
	}
	for _, task := range p.tasks {
		if !task.Judged {
			report.Overlaps = append(report.Overlaps, measureOverlap(task, t.Targets, taught, chosen))
		}
	}
	return nil
}
