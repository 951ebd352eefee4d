package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/ann"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/plot"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

//go:embed page.html
var pageSource string

var page = sync.OnceValue(func() *template.Template { // few starts of the program write one
	return template.Must(template.New("page").Funcs(template.FuncMap{"rank": rankText, "title": title}).Parse(pageSource))
})

// benchView is the page's view of one bench report.
type benchView struct {
	*bench.Report
	Bars    []template.HTML
	Span    []template.HTML
	Tables  []taskTable
	Systems []systemView
}

// systemView is one system against dense, query by query.
type systemView struct {
	Name   string
	Charts []template.HTML
	Worse  []bench.Case
	Better []bench.Case
}

type curveView struct {
	*repeat.Curve
	Charts []template.HTML
}

type soakView struct {
	Charts []template.HTML
	Table  string
}

// WriteHTML writes b as one page: charts with intervals, tables, score by span length, wins and losses
// with the texts of the largest losses, curves and indexes. The page follows the reader's colour
// scheme. It needs no script and no external resource.
func (b *Bundle) WriteHTML(w io.Writer) error {
	view := struct {
		Title   string
		Style   template.CSS
		Benches []benchView
		Macros  []macro
		Curves  []curveView
		ANN     []*ann.Report
		Speed   []template.HTML
		Soaks   []soakView
		Growth  []template.HTML
		Lives   []*load.Report
		Figures []growth
	}{Title: pageTitle(b), Style: template.CSS(plot.Style), ANN: b.ANN, Macros: macros(b.Benches, mainMetric), Lives: sizes(b.Lives)}
	for _, r := range b.Benches {
		v, err := viewBench(r)
		if err != nil {
			return err
		}
		view.Benches = append(view.Benches, v)
	}
	for _, c := range b.Curves {
		charts, err := drawAll(curveCharts(c))
		if err != nil {
			return err
		}
		view.Curves = append(view.Curves, curveView{c, charts})
	}
	var err error
	if view.Speed, err = drawAll(annCharts(b.ANN)); err != nil {
		return err
	}
	for _, r := range b.Soaks {
		v := soakView{}
		if v.Charts, err = drawAll(soakCharts(r)); err != nil {
			return err
		}
		var table strings.Builder
		if err := r.WriteTable(&table); err != nil {
			return err
		}
		v.Table = table.String()
		view.Soaks = append(view.Soaks, v)
	}
	view.Figures = growths(view.Lives)
	if view.Growth, err = drawAll(growthCharts(b.Lives)); err != nil {
		return err
	}
	if err := page().Execute(w, view); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func viewBench(r *bench.Report) (benchView, error) {
	v := benchView{Report: r, Tables: tables(r)}
	for _, m := range shownMetrics(r) {
		svg, err := draw(taskBars(r, m))
		if err != nil {
			return v, err
		}
		v.Bars = append(v.Bars, svg)
		if c, ok := spanLines(r, m); ok {
			if svg, err = draw(c); err != nil {
				return v, err
			}
			v.Span = append(v.Span, svg)
		}
	}
	for _, s := range compare.Systems(r.Results) {
		if s == "dense" {
			continue
		}
		view := systemView{Name: s}
		for _, t := range compare.Tasks(r.Results) {
			if c, ok := differences(r, s, t); ok {
				svg, err := draw(c)
				if err != nil {
					return v, err
				}
				view.Charts = append(view.Charts, svg)
			}
		}
		for _, c := range r.Cases {
			if c.System != s {
				continue
			}
			if c.Delta < 0 {
				view.Worse = append(view.Worse, c)
			} else {
				view.Better = append(view.Better, c)
			}
		}
		if len(view.Charts) > 0 {
			v.Systems = append(v.Systems, view)
		}
	}
	return v, nil
}

// drawAll returns charts as markup.
func drawAll(charts []Chart) ([]template.HTML, error) {
	var out []template.HTML
	for _, c := range charts {
		svg, err := draw(c.plot)
		if err != nil {
			return nil, err
		}
		out = append(out, svg)
	}
	return out, nil
}

// draw gives a chart as markup; package plot escapes every text in it.
func draw(c plot.Chart) (template.HTML, error) {
	s, err := c.SVG()
	if err != nil {
		return "", fmt.Errorf("drawing: %w", err)
	}
	return template.HTML(s), nil
}

func pageTitle(b *Bundle) string {
	var names []string
	add := func(n string) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, r := range b.Benches {
		add(r.Data)
	}
	for _, c := range b.Curves {
		add(c.Data)
	}
	if len(names) == 0 {
		return "Vector indexes"
	}
	return "Retrieval on " + strings.Join(names, ", ")
}

func rankText(n int) string {
	if n == 0 {
		return "not found"
	}
	return fmt.Sprintf("rank %d", n)
}
