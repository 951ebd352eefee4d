package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/bench"
)

// mainMetric is the metric by which systems are compared.
const mainMetric = "ndcg@10"

// tasksOf lists the tasks of results in order.
func tasksOf(results []bench.Result) []string {
	var out []string
	for _, r := range results {
		if !slices.Contains(out, r.Task) {
			out = append(out, r.Task)
		}
	}
	return out
}

// systemsOf lists the systems of results in order.
func systemsOf(results []bench.Result) []string {
	var out []string
	for _, r := range results {
		if !slices.Contains(out, r.System) {
			out = append(out, r.System)
		}
	}
	return out
}

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

// find returns the result of a system on a task, or nil.
func find(results []bench.Result, system, task string) *bench.Result {
	for i := range results {
		if results[i].System == system && results[i].Task == task {
			return &results[i]
		}
	}
	return nil
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

// table is all systems on one task.
type table struct {
	Task    string
	Queries int
	LeftOut int
	Metrics []string
	Rows    []row
}

func tables(r *bench.Report) []table {
	metrics := metricsOf(r.Results)
	var out []table
	for _, task := range tasksOf(r.Results) {
		t := table{Task: task, Metrics: metrics}
		best := make([]float64, len(metrics))
		for _, system := range systemsOf(r.Results) {
			res := find(r.Results, system, task)
			if res == nil {
				continue
			}
			t.Queries, t.LeftOut = res.Queries, res.LeftOut
			for i, m := range metrics {
				best[i] = max(best[i], res.Metrics[m])
			}
		}
		for _, system := range systemsOf(r.Results) {
			res := find(r.Results, system, task)
			if res == nil {
				continue
			}
			line := row{System: system, Ms: strconv.FormatFloat(res.MsPerQuery, 'f', 3, 64)}
			for i, m := range metrics {
				c := cell{Value: hundredths(res.Metrics[m]), Best: hundredths(res.Metrics[m]) == hundredths(best[i])}
				if iv, ok := res.Intervals[m]; ok {
					c.Interval = hundredths(iv[0]) + "–" + hundredths(iv[1])
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

func hundredths(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }

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
