package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/ann"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/plot"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

// Chart is one chart of a bundle, with a file name.
type Chart struct {
	Name string // letters, digits, - and @
	plot plot.Chart
}

// WriteSVG writes the chart as a complete SVG document, which follows the reader's colour scheme.
func (c Chart) WriteSVG(w io.Writer) error {
	s, err := plot.Standalone(c.plot)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", c.Name, err)
	}
	_, err = io.WriteString(w, s)
	return err
}

// Charts returns the charts of scores, spans, curves, indexes, soaks and databases in b, in the order of the page
// and with distinct names. Charts of single queries are only on the page.
func (b *Bundle) Charts() []Chart {
	var all []Chart
	seen := map[string]int{}
	add := func(name string, c plot.Chart) {
		name = strings.NewReplacer(":", "", "/", "-", "+", "-", " ", "-", ",", "-").Replace(name)
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name])
		}
		all = append(all, Chart{name, c})
	}
	for _, r := range b.Benches {
		for _, m := range shownMetrics(r) {
			add(r.Data+"-tasks-"+m, taskBars(r, m))
			if c, ok := spanLines(r, m); ok {
				add(r.Data+"-spans-"+m, c)
			}
		}
	}
	for _, c := range b.Curves {
		for _, one := range curveCharts(c) {
			add(one.Name, one.plot)
		}
	}
	for _, one := range annCharts(b.ANN) {
		add(one.Name, one.plot)
	}
	for _, r := range b.Soaks {
		for _, one := range soakCharts(r) {
			add(one.Name, one.plot)
		}
	}
	for _, one := range growthCharts(b.Lives) {
		add(one.Name, one.plot)
	}
	return all
}

// curveCharts returns the plots of a curve: one for each task, and the loss.
func curveCharts(c *repeat.Curve) []Chart {
	var out []Chart
	if len(c.Points) == 0 {
		return nil
	}
	name := c.Data + "-" + c.Over + "-"
	for _, t := range compare.Tasks(c.Points[0].Results) {
		out = append(out, Chart{name + t, curveLines(c, t, mainMetric)})
	}
	if loss, ok := lossLines(c); ok {
		out = append(out, Chart{name + "loss", loss})
	}
	return out
}

// annCharts returns the plots of all indexes together.
func annCharts(reports []*ann.Report) []Chart {
	if len(reports) == 0 {
		return nil
	}
	out := []Chart{{"recall-speed", recallSpeed(reports)}}
	if c, ok := sizeCost(reports); ok {
		out = append(out, Chart{"size-cost", c})
	}
	return out
}

// soakCharts returns the plots of a soak over its time: memory and disk, and how long searches took.
func soakCharts(r *load.SoakReport) []Chart {
	if len(r.Samples) == 0 {
		return nil
	}
	return []Chart{
		{"soak-space", soakLines(r, "Memory and disk", "MiB", map[string]func(load.SoakSample) float64{
			"resident": func(s load.SoakSample) float64 { return s.RSS }, "of that, in no file": func(s load.SoakSample) float64 { return s.Anonymous },
			"on disk": func(s load.SoakSample) float64 { return s.Disk },
		})},
		{"soak-searches", soakLines(r, "Searches", "ms", map[string]func(load.SoakSample) float64{
			"median": func(s load.SoakSample) float64 { return s.P50 }, "99th percentile": func(s load.SoakSample) float64 { return s.P99 },
		})},
	}
}
