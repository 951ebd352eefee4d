package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/table"
)

// WriteTable writes the report as a table for the terminal: metrics × 100 with one decimal, the
// difference to dense in ndcg@10, and its p value with Holm's correction, as on the page of package
// report. metrics are the columns; nil means the measured ones of DefaultMetrics.
func (r *Report) WriteTable(w io.Writer, metrics []string) error {
	metrics = r.Measured(metrics)
	head := append(append([]string{"task", "system", "queries"}, metrics...), "Δ ndcg@10", "p (Holm)", "ms/query")
	rows := [][]string{head}
	last := ""
	for _, res := range r.Results {
		task, queries := res.Task, strconv.Itoa(res.Queries)
		if task == last {
			task, queries = "", ""
		}
		last = res.Task
		row := []string{task, res.System, queries}
		for _, m := range metrics {
			row = append(row, table.Percent(res.Metrics[m]))
		}
		delta, p := "", ""
		if res.VsDense != nil {
			delta, p = fmt.Sprintf("%+.1f", 100*res.VsDense.Delta), fmt.Sprintf("%.4f", res.VsDense.PHolm)
		}
		rows = append(rows, append(row, delta, p, fmt.Sprintf("%.3f", res.MsPerQuery)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · %s · seed %d%s\n\n", r.Data, r.Searched("documents"), r.Encoder, r.Seed, r.Asked(" · "))
	table.Align(&b, rows, 2)
	if n := r.family(); n > 0 {
		fmt.Fprintf(&b, "\np: paired randomization test on ndcg@10 against dense, by Holm's method over the systems of a task: %d here.\n", n)
	}
	for _, note := range r.Notes() {
		b.WriteString("\n" + note + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// Measured lists the given metrics that the report has; nil means DefaultMetrics.
func (r *Report) Measured(metrics []string) []string {
	if metrics == nil {
		metrics = DefaultMetrics
	}
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool {
		return len(r.Results) == 0 || !hasKey(r.Results[0].Metrics, m)
	})
}

// family is the number of comparisons that p is corrected over.
func (r *Report) family() int {
	n := 0
	for _, res := range r.Results {
		if res.VsDense != nil && res.Task == r.Results[0].Task {
			n++
		}
	}
	return n
}

// OverlapNote says in words how many queries share words with training queries. It returns "" if no
// system uses training queries.
func (r *Report) OverlapNote() string {
	if len(r.Overlaps) == 0 {
		return ""
	}
	var taught, chosen []string
	for _, o := range r.Overlaps {
		taught = append(taught, o.Task+" "+table.Percent(o.Taught))
		chosen = append(chosen, o.Task+" "+table.Percent(o.Chosen))
	}
	return fmt.Sprintf("Of 100 probes share a run of %d words with a query of their passage that bridges were taught by: %s; that the epoch was chosen by: %s.",
		overlapRun, strings.Join(taught, ", "), strings.Join(chosen, ", "))
}

func hasKey(m map[string]float64, k string) bool { _, ok := m[k]; return ok }
