package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/ann"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/plot"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

// value is a mean with its interval, in hundredths.
func value(r *bench.Result, metric string) plot.Value {
	v := plot.Value{Y: 100 * r.Metrics[metric]}
	if iv, ok := r.Intervals[metric]; ok {
		v.Low, v.High = 100*iv[0], 100*iv[1]
	}
	return v
}

// taskBars shows every system on every task.
func taskBars(r *bench.Report, metric string) plot.Chart {
	tasks, systems := compare.Tasks(r.Results), compare.Systems(r.Results)
	c := plot.Bars{
		Frame:  plot.Frame{Title: title(metric) + " by task", Width: max(520, min(1040, 120+float64(len(tasks)*(len(systems)*17+34)))), Height: 340},
		Y:      plot.Axis{Label: title(metric) + " × 100", From: 0, To: 100},
		Groups: tasks,
	}
	for _, s := range systems {
		series := plot.BarSeries{Name: s, Base: s == "dense"}
		for _, t := range tasks {
			var v plot.Value
			if res := compare.Find(r.Results, s, t); res != nil {
				v = value(res, metric)
			}
			series.Values = append(series.Values, v)
		}
		c.Series = append(c.Series, series)
	}
	return c
}

// spanLines shows the score against the length of spans, if there are two lengths or
// more.
func spanLines(r *bench.Report, metric string) (plot.Chart, bool) {
	lengths := map[int]string{}
	for _, t := range compare.Tasks(r.Results) {
		if rest, ok := strings.CutPrefix(t, "part:"); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				lengths[n] = t
			}
		}
	}
	if len(lengths) < 2 {
		return nil, false
	}
	var order []int
	for n := range lengths {
		order = append(order, n)
	}
	slices.Sort(order)
	c := plot.Lines{
		Frame: plot.Frame{Title: title(metric) + " against span length", Width: 520, Height: 320},
		X:     plot.Axis{Label: "words copied from the passage", Log: true},
		Y:     plot.Axis{Label: title(metric) + " × 100"},
	}
	for _, n := range order {
		c.X.Ticks = append(c.X.Ticks, float64(n))
	}
	for _, s := range compare.Systems(r.Results) {
		line := plot.Line{Name: s, Base: s == "dense"}
		for _, n := range order {
			if res := compare.Find(r.Results, s, lengths[n]); res != nil {
				line.Points = append(line.Points, plot.Point{X: float64(n), Value: value(res, metric), Label: strconv.Itoa(res.Queries) + " queries"})
			}
		}
		c.Series = append(c.Series, line)
	}
	return c, true
}

// differences shows the queries of one system on one task against dense.
func differences(r *bench.Report, system, task string) (plot.Chart, bool) {
	base, res := compare.Find(r.Results, "dense", task), compare.Find(r.Results, system, task)
	if base == nil || res == nil || len(base.PerQuery[mainMetric]) == 0 || len(base.PerQuery[mainMetric]) != len(res.PerQuery[mainMetric]) {
		return nil, false
	}
	c := plot.Differences{Frame: plot.Frame{Title: task, Width: 420, Height: 210}, Y: plot.Axis{Label: "Δ " + title(mainMetric), From: -1, To: 1}}
	for i, v := range res.PerQuery[mainMetric] {
		c.Values = append(c.Values, v-base.PerQuery[mainMetric][i])
	}
	return c, true
}

// curveLines shows one task of a curve.
func curveLines(c *repeat.Curve, task, metric string) plot.Chart {
	label := map[string]string{repeat.OverQueries: "training queries a passage", repeat.OverSteps: "steps of the descent", repeat.OverPassages: "passages in the corpus"}[c.Over]
	chart := plot.Lines{
		Frame: plot.Frame{Title: fmt.Sprintf("%s: %s over %s", task, title(metric), label), Width: 560},
		X:     plot.Axis{Label: label, Log: true}, Y: plot.Axis{Label: title(metric) + " × 100"},
	}
	for _, p := range c.Points {
		chart.X.Ticks = append(chart.X.Ticks, float64(p.X))
	}
	for _, s := range compare.Systems(c.Points[0].Results) {
		line := plot.Line{Name: s, Base: s == "dense"}
		for _, p := range c.Points {
			if res := compare.Find(p.Results, s, task); res != nil {
				line.Points = append(line.Points, plot.Point{X: float64(p.X), Value: value(res, metric)})
			}
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}

// shownMetrics returns nDCG@1 and nDCG@10, as far as r has them.
func shownMetrics(r *bench.Report) []string {
	metrics := metricsOf(r.Results)
	return slices.DeleteFunc([]string{"ndcg@1", mainMetric}, func(m string) bool { return !slices.Contains(metrics, m) })
}

// lossLines shows the training loss of each fitted system over training queries or steps.
func lossLines(c *repeat.Curve) (plot.Chart, bool) {
	if c.Over == repeat.OverPassages {
		return nil, false
	}
	chart := plot.Lines{
		Frame: plot.Frame{Title: "Training loss of the epoch that was kept", Width: 560},
		X:     plot.Axis{Label: "training queries", Log: true}, Y: plot.Axis{Label: "nats"},
	}
	if c.Over == repeat.OverSteps {
		chart.Title, chart.X.Label = "Training loss, LexSemBridge Fig. 4", "steps of the descent"
	}
	for _, s := range compare.Systems(c.Points[0].Results) {
		line := plot.Line{Name: s}
		for _, p := range c.Points {
			if f := p.Fit[s]; f.Loss > 0 && f.Queries > 0 {
				x := f.Queries
				if c.Over == repeat.OverSteps {
					x = p.X
				}
				line.Points = append(line.Points, plot.Point{X: float64(x), Value: plot.Value{Y: f.Loss}})
			}
		}
		if len(line.Points) > 1 {
			chart.Series = append(chart.Series, line)
		}
	}
	return chart, len(chart.Series) > 0
}

// recallSpeed shows the queries per second of an index against its recall.
func recallSpeed(reports []*ann.Report) plot.Chart {
	c := plot.Lines{
		Frame: plot.Frame{Title: "Recall against speed"},
		X:     plot.Axis{Label: "recall@10"}, Y: plot.Axis{Label: "queries a second", Log: true},
	}
	for _, r := range reports {
		line := plot.Line{Name: fmt.Sprintf("%s, %d vectors", r.Index, r.N), Base: r.Index == "flat"}
		for _, p := range r.Points {
			if p.QPS > 0 { // else it cannot stand on the axis
				line.Points = append(line.Points, plot.Point{X: p.Recall, Value: plot.Value{Y: p.QPS}, Label: "ef " + strconv.Itoa(p.Ef)})
			}
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// costRecall is the recall at which the costs of indexes of several sizes are compared.
const costRecall = 0.98

// sizeCost shows the cost of a query at costRecall against the number of vectors, for
// indexes measured with several numbers.
func sizeCost(reports []*ann.Report) (plot.Chart, bool) {
	chart := plot.Lines{
		Frame: plot.Frame{Title: fmt.Sprintf("Cost of a query at recall %g", costRecall)},
		X:     plot.Axis{Label: "vectors", Log: true}, Y: plot.Axis{Label: "µs of one core", Log: true},
	}
	var names []string
	for _, r := range reports {
		if !slices.Contains(names, r.Index) {
			names = append(names, r.Index)
		}
		if !slices.Contains(chart.X.Ticks, float64(r.N)) {
			chart.X.Ticks = append(chart.X.Ticks, float64(r.N))
		}
	}
	for _, name := range names {
		line := plot.Line{Name: name}
		for _, r := range reports {
			if us, ok := cpuAt(r.Points, costRecall); ok && r.Index == name {
				line.Points = append(line.Points, plot.Point{X: float64(r.N), Value: plot.Value{Y: us}})
			}
		}
		if len(line.Points) > 1 {
			slices.SortFunc(line.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
			chart.Series = append(chart.Series, line)
		}
	}
	slices.Sort(chart.X.Ticks)
	return chart, len(chart.Series) > 0
}

// cpuAt is the microseconds of a query at a recall, between two points in log
// scale.
func cpuAt(points []ann.Point, recall float64) (float64, bool) {
	points = slices.SortedFunc(slices.Values(points), func(a, b ann.Point) int { return cmp.Compare(a.Recall, b.Recall) })
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if a.Recall <= recall && recall <= b.Recall && a.Recall < b.Recall && a.CPU > 0 && b.CPU > 0 {
			t := (recall - a.Recall) / (b.Recall - a.Recall)
			return math.Exp(math.Log(a.CPU)*(1-t) + math.Log(b.CPU)*t), true
		}
	}
	return 0, false
}

// soakLines shows figures of a soak over its time.
func soakLines(r *load.SoakReport, name, unit string, of map[string]func(load.SoakSample) float64) plot.Chart {
	chart := plot.Lines{
		Frame: plot.Frame{Title: fmt.Sprintf("%s, %d documents, %d operations", name, r.Docs, r.Reads+r.Writes+r.Deletes), Width: 560},
		X:     plot.Axis{Label: "minutes"}, Y: plot.Axis{Label: unit, From: 0, To: 1},
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		line := plot.Line{Name: name}
		for _, s := range r.Samples {
			y := of[name](s)
			chart.Y.To = max(chart.Y.To, y)
			line.Points = append(line.Points, plot.Point{X: s.Seconds / 60, Value: plot.Value{Y: y}})
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}

// title writes a metric as papers do.
func title(metric string) string {
	name, cut, at := strings.Cut(metric, "@")
	full := map[string]string{
		"ndcg": "nDCG", "ndcg-exp": "nDCG (exp)", "mrr": "MRR", "recall": "Recall", "recall-cap": "Capped recall", "map": "MAP", "precision": "P",
		"rprec": "R-precision", "rbp": "RBP", "success": "Success", "judged": "Judged",
	}[name]
	switch {
	case full == "":
		return metric
	case !at:
		return full
	}
	return full + "@" + cut
}
