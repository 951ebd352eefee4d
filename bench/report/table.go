package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/table"
)

// mainMetric is the metric by which systems are compared.
const mainMetric = "ndcg@10"

// metricsOf lists the metrics of results: the default ones first, then the
// others by name.
func metricsOf(results []bench.Result) []string {
	if len(results) == 0 {
		return nil
	}
	var out, others []string
	for _, m := range bench.DefaultMetrics {
		if _, ok := results[0].Metrics[m]; ok {
			out = append(out, m)
		}
	}
	for m := range results[0].Metrics {
		if !slices.Contains(out, m) {
			others = append(others, m)
		}
	}
	slices.Sort(others)
	return append(out, others...)
}

// row is one system in a table of a task.
type row struct {
	System string
	Cells  []cell
	Delta  string // difference to dense in the main metric
	P      string // with Holm's correction
	Sure   bool   // P below .05
	Ms     string
}

// cell is one mean with its interval, in hundredths.
type cell struct {
	Value    string
	Interval string // "92.1–93.9"
	Best     bool   // the highest of the column
}

// taskTable is all systems on one task.
type taskTable struct {
	Task    string
	Queries int
	LeftOut int
	Metrics []string
	Rows    []row
}

func tables(r *bench.Report) []taskTable {
	metrics := metricsOf(r.Results)
	var out []taskTable
	for _, task := range compare.Tasks(r.Results) {
		t := taskTable{Task: task, Metrics: metrics}
		best := make([]float64, len(metrics))
		for _, system := range compare.Systems(r.Results) {
			res := compare.Find(r.Results, system, task)
			if res == nil {
				continue
			}
			t.Queries, t.LeftOut = res.Queries, res.LeftOut
			for i, m := range metrics {
				best[i] = max(best[i], res.Metrics[m])
			}
		}
		for _, system := range compare.Systems(r.Results) {
			res := compare.Find(r.Results, system, task)
			if res == nil {
				continue
			}
			line := row{System: system, Ms: strconv.FormatFloat(res.MsPerQuery, 'f', 3, 64)}
			for i, m := range metrics {
				c := cell{Value: table.Percent(res.Metrics[m]), Best: !strings.HasPrefix(m, "ece@") && table.Percent(res.Metrics[m]) == table.Percent(best[i])}
				if iv, ok := res.Intervals[m]; ok {
					c.Interval = table.Percent(iv[0]) + "–" + table.Percent(iv[1])
				}
				line.Cells = append(line.Cells, c)
			}
			if v := res.VsDense; v != nil {
				line.Delta, line.P, line.Sure = signed(100*v.Delta), probability(v.PHolm), v.PHolm < .05
			}
			t.Rows = append(t.Rows, line)
		}
		out = append(out, t)
	}
	return out
}

// signed writes a difference with its sign, a true minus among them.
func signed(x float64) string {
	s := fmt.Sprintf("%+.1f", x)
	if s == "-0.0" || s == "+0.0" {
		return "0.0"
	}
	return strings.Replace(s, "-", "−", 1)
}

// probability writes p with four decimals, its floor as a bound.
func probability(p float64) string {
	if p < .00015 {
		return "≤ .0001"
	}
	return strings.TrimPrefix(strconv.FormatFloat(p, 'f', 4, 64), "0")
}
