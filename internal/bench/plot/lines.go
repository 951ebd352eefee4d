package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is one measured point of a line.
type Point struct {
	X float64
	Value
	Label string // extra text of the tooltip; may be empty
}

// Line is a named series of points, drawn in the order given.
type Line struct {
	Name   string
	Points []Point
	Base   bool // drawn in grey and dashed, as the baseline
}

// Lines is a chart of one or more series over numbers, with bands for intervals.
type Lines struct {
	Frame
	X, Y   Axis
	Series []Line
}

// SVG implements Chart.
func (c Lines) SVG() (string, error) {
	w, _, err := c.size()
	if err != nil {
		return "", err
	}
	xLow, xHigh, yLow, yHigh := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	points := 0
	for _, s := range c.Series {
		for _, q := range s.Points {
			if err := finite(s.Name, q.X, q.Y, q.Low, q.High); err != nil {
				return "", err
			}
			points++
			xLow, xHigh = min(xLow, q.X), max(xHigh, q.X)
			yLow, yHigh = min(yLow, q.Y), max(yHigh, q.Y)
			if q.interval() {
				yLow, yHigh = min(yLow, q.Low), max(yHigh, q.High)
			}
		}
	}
	if points == 0 {
		return "", fmt.Errorf("%w: no points; give at least one", ErrChart)
	}
	y, err := newScale(c.Y, yLow, yHigh, false, 5)
	if err != nil {
		return "", err
	}
	x, err := newScale(c.X, xLow, xHigh, false, max(3, int(w/110)))
	if err != nil {
		return "", err
	}
	colour := colourOf(len(c.Series), func(i int) bool { return c.Series[i].Base })
	keys := make([]key, len(c.Series))
	for i, s := range c.Series {
		keys[i] = key{s.Name, colour[i], i}
	}
	if len(keys) == 1 && keys[0].name == "" {
		keys = nil
	}
	below := 28.
	if c.X.Label != "" {
		below += labelRow
	}
	p, err := newPanel(c.Frame, keys, c.Y, y, fmt.Sprintf("%d lines over %s", len(c.Series), c.X.Label), below)
	if err != nil {
		return "", err
	}
	p.x = x
	p.x.a, p.x.b = p.left+6, p.right-6
	p.xAxis(c.X)
	for i, s := range c.Series {
		p.band(colour[i], s.Points)
	}
	for i, s := range c.Series {
		p.series(i, colour[i], s)
	}
	return p.done(), nil
}

// xAxis draws the horizontal rule with its ticks, and leaves out labels that would touch
// the previous one.
func (p *panel) xAxis(a Axis) {
	p.line("lx-rule", p.left, p.bottom, p.right, p.bottom)
	end := math.Inf(-1)
	labels := tickLabels(p.x.ticks, a.Log)
	for i, t := range p.x.ticks {
		at := p.x.at(t)
		if at < p.left-.5 || at > p.right+.5 {
			continue
		}
		p.line("lx-rule", at, p.bottom, at, p.bottom+4)
		if half := textWidth(labels[i], 12) / 2; at-half > end+4 {
			p.text("lx-soft", "middle", at, p.bottom+18, labels[i])
			end = at + half
		}
	}
	if a.Label != "" {
		p.text("lx-soft", "middle", (p.left+p.right)/2, p.bottom+38, a.Label)
	}
}

// band fills between the bounds of points that have intervals.
func (p *panel) band(colour string, points []Point) {
	if len(points) < 2 || slices.ContainsFunc(points, func(q Point) bool { return !q.interval() }) {
		return
	}
	var b strings.Builder
	for _, q := range points {
		fmt.Fprintf(&b, "%s,%s ", px(p.x.at(q.X)), px(p.clamp(p.y.at(q.High))))
	}
	for _, q := range slices.Backward(points) {
		fmt.Fprintf(&b, "%s,%s ", px(p.x.at(q.X)), px(p.clamp(p.y.at(q.Low))))
	}
	p.addf(`<polygon class="lx-band lx-f%s" points="%s"/>`, colour, strings.TrimSpace(b.String()))
}

func (p *panel) series(shape int, colour string, s Line) {
	dash := ""
	if s.Base {
		dash = ` stroke-dasharray="5 4"`
	}
	var b strings.Builder
	for _, q := range s.Points {
		fmt.Fprintf(&b, "%s,%s ", px(p.x.at(q.X)), px(p.clamp(p.y.at(q.Y))))
	}
	if len(s.Points) > 1 {
		p.addf(`<polyline class="lx-line lx-s%s"%s points="%s"/>`, colour, dash, strings.TrimSpace(b.String()))
	}
	for _, q := range s.Points {
		at := p.x.at(q.X)
		if q.interval() && len(s.Points) == 1 {
			p.whisker(at, p.clamp(p.y.at(q.Low)), p.clamp(p.y.at(q.High)), 4)
		}
		p.mark(shape, "lx-f"+colour, at, p.clamp(p.y.at(q.Y)), join(s.Name, q.Label, Number(q.X)+": "+q.text()))
	}
}

func join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, " · ")
}
