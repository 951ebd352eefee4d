package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/plot"
)

// growth is how one figure of a database grows with its documents.
type growth struct {
	Name string
	// Slope is that between the two largest sizes when both axes are logarithmic: 0 for a figure that stays, 1 for one
	// that grows as the documents do. "" for a single size.
	Slope  string
	Values []string // by size; "–" for one that was not measured
	points []plot.Point
}

// sizes are the reports by their number of documents.
func sizes(lives []*load.Report) []*load.Report {
	return slices.SortedStableFunc(slices.Values(lives), func(a, b *load.Report) int { return a.Docs - b.Docs })
}

// growths returns the figures that at least one of reports, which are sorted, has.
func growths(reports []*load.Report) (out []growth) {
	of := func(name string, value func(r *load.Report) *float64) {
		g := growth{Name: name}
		for _, r := range reports {
			v := value(r)
			if v == nil || *v <= 0 {
				g.Values = append(g.Values, "–")
				continue
			}
			g.Values = append(g.Values, plot.Number(*v))
			g.points = append(g.points, plot.Point{X: float64(r.Docs), Value: plot.Value{Y: *v}})
		}
		if len(g.points) == 0 {
			return
		}
		last := g.points[len(g.points)-1]
		for _, p := range slices.Backward(g.points) {
			if p.X < last.X {
				g.Slope = fmt.Sprintf("%.2f", math.Log(last.Y/p.Y)/math.Log(last.X/p.X))
				break
			}
		}
		out = append(out, g)
	}
	search := func(mode string) func(r *load.Report) *float64 {
		return func(r *load.Report) *float64 {
			if m := r.Modes[mode]; m != nil {
				return &m.CPU
			}
			return nil
		}
	}
	scaled := func(v *float64, by float64) *float64 {
		if v == nil {
			return nil
		}
		return new(*v * by)
	}
	mib := func(n *int64) *float64 {
		if n == nil {
			return nil
		}
		return new(float64(*n) / (1 << 20))
	}
	of("adding all, CPU s", func(r *load.Report) *float64 {
		if r.SettledPerCPUSecond == nil {
			return nil
		}
		return new(float64(r.Docs) / *r.SettledPerCPUSecond)
	})
	of("search by a vector, CPU ms", search("vector"))
	of("search by words, CPU ms", search("lexical"))
	of("hybrid search, CPU ms", search("hybrid"))
	of("search, median ms", func(r *load.Report) *float64 { return r.P50 })
	of("search, p99 ms", func(r *load.Report) *float64 { return r.P99 })
	of("search beside a writer, p99 ms", func(r *load.Report) *float64 { return r.P99Beside })
	of("opening, CPU ms", func(r *load.Report) *float64 { return scaled(r.OpenCPU, 1000) })
	of("opening after a kill, CPU ms", func(r *load.Report) *float64 { return scaled(r.OpenBehindCPU, 1000) })
	of("backup, CPU s", func(r *load.Report) *float64 { return r.BackupCPU })
	of("on disk, MiB", func(r *load.Report) *float64 { return mib(r.DiskBytes) })
	of("resident, MiB", func(r *load.Report) *float64 { return r.RSS })
	return out
}

// growthCharts returns the plot of databases of several sizes: each figure as a multiple of that of the smallest.
func growthCharts(lives []*load.Report) []Chart {
	chart := plot.Lines{
		Frame: plot.Frame{Title: "Growth (in brackets the slope between the two largest sizes)", Width: 960, Height: 480},
		X:     plot.Axis{Label: "documents", Log: true},
		Y:     plot.Axis{Label: "times the smallest size", Log: true},
	}
	for _, g := range growths(sizes(lives)) {
		if g.Slope == "" {
			continue
		}
		line := plot.Line{Name: fmt.Sprintf("%s (%s)", g.Name, g.Slope)}
		for _, p := range g.points {
			line.Points = append(line.Points, plot.Point{X: p.X, Value: plot.Value{Y: p.Y / g.points[0].Y}, Label: plot.Number(p.Y)})
		}
		chart.Series = append(chart.Series, line)
	}
	if len(chart.Series) == 0 {
		return nil
	}
	return []Chart{{"growth", chart}}
}
