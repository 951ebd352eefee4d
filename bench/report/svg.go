package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench/plot"
)

// Chart is one plot of a bundle, with a name for its file.
type Chart struct {
	Name string // letters, digits, - and @
	plot plot.Chart
}

// WriteSVG writes the chart as an SVG document of its own, which follows the
// reader's colour scheme.
func (c Chart) WriteSVG(w io.Writer) error {
	s, err := plot.Standalone(c.plot)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", c.Name, err)
	}
	_, err = io.WriteString(w, s)
	return err
}

// Charts are the plots of scores, spans, curves and indexes in b, in the order
// of the page; those of single queries are on the page alone. Names are
// distinct.
func Charts(b *Bundle) []Chart {
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
		if len(c.Points) == 0 {
			continue
		}
		for _, t := range tasksOf(c.Points[0].Results) {
			add(c.Data+"-"+c.Over+"-"+t, curveLines(c, t, mainMetric))
		}
		if chart, ok := curveLoss(c); ok {
			add(c.Data+"-"+c.Over+"-loss", chart)
		}
	}
	if len(b.ANN) > 0 {
		add("recall-speed", recallSpeed(b.ANN))
	}
	if c, ok := sizeCost(b.ANN); ok {
		add("size-cost", c)
	}
	return all
}
