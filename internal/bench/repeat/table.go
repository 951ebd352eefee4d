package repeat

import (
	"fmt"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/table"
)

// compareBy is the metric that systems are compared by.
const compareBy = "ndcg@10"

// WriteTable writes the results over all seeds as a table for the terminal: means × 100 with their
// standard deviation over the seeds, and the comparison with dense in ndcg@10.
func (s *Seeds) WriteTable(w io.Writer, metrics []string) error {
	metrics = s.Reports[0].Measured(metrics)
	rows := [][]string{append(append([]string{"task", "system"}, metrics...), "Δ ndcg@10", "p (Holm)", "p over seeds")}
	last := ""
	for _, r := range s.Results {
		task := r.Task
		if task == last {
			task = ""
		}
		last = r.Task
		row := []string{task, r.System}
		for _, m := range metrics {
			row = append(row, fmt.Sprintf("%s ± %.1f", table.Percent(r.Metrics[m].Mean), 100*r.Metrics[m].SD))
		}
		delta, p, seeds := "", "", ""
		if d, ok := r.VsDense[compareBy]; ok {
			delta, p, seeds = fmt.Sprintf("%+.1f", 100*d.Delta), fmt.Sprintf("%.4f", d.PHolm), fmt.Sprintf("%.4f", d.PSeeds)
		}
		rows = append(rows, append(row, delta, p, seeds))
	}
	one := s.Reports[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · %s · seeds %d to %d%s\n\n", one.Data, one.Searched("documents"), one.Encoder, s.Seeds[0], s.Seeds[len(s.Seeds)-1], one.Asked(" · "))
	table.Align(&b, rows, 2)
	b.WriteString("\n±: standard deviation over the seeds. p: paired randomization test on ndcg@10 against dense, over the queries with Holm's correction, and over the seeds.\n")
	for _, note := range one.Notes() {
		b.WriteString("\n" + note + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// WriteJSON writes s in the format of Report.WriteJSON.
func (s *Seeds) WriteJSON(w io.Writer) error { return bench.WriteJSON(w, s) }
