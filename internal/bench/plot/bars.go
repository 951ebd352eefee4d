package plot

import (
	"fmt"
	"html"
	"math"
	"strconv"
)

// BarSeries is a series with one bar in each group.
type BarSeries struct {
	Name   string
	Values []Value // one per group
	Base   bool    // drawn in grey, as the baseline
}

// Bars is a chart of grouped bars with intervals. Its axis starts at zero.
type Bars struct {
	Frame
	Y      Axis
	Groups []string
	Series []BarSeries
}

// SVG implements Chart.
func (c Bars) SVG() (string, error) {
	w, _, err := c.size()
	if err != nil {
		return "", err
	}
	if len(c.Groups) == 0 || len(c.Series) == 0 {
		return "", fmt.Errorf("%w: %d groups of %d bars; give at least one of each", ErrChart, len(c.Groups), len(c.Series))
	}
	if c.Y.Log {
		return "", fmt.Errorf("%w: bars start at zero, which a logarithmic axis does not have", ErrChart)
	}
	low, high := math.Inf(1), math.Inf(-1)
	var names []string
	for _, s := range c.Series {
		if len(s.Values) != len(c.Groups) {
			return "", fmt.Errorf("%w: %s has %d values for %d groups", ErrChart, s.Name, len(s.Values), len(c.Groups))
		}
		for _, v := range s.Values {
			if err := finite(s.Name, v.Y, v.Low, v.High); err != nil {
				return "", err
			}
			low, high = min(low, v.Y), max(high, v.Y)
			if v.interval() {
				low, high = min(low, v.Low), max(high, v.High)
			}
		}
		names = append(names, s.Name)
	}
	y, err := newScale(c.Y, low, high, true, 5)
	if err != nil {
		return "", err
	}
	colour := colourOf(len(c.Series), func(i int) bool { return c.Series[i].Base })
	keys := make([]key, len(c.Series))
	for i := range keys {
		keys[i] = key{names[i], colour[i], -1}
	}
	// Labels that do not fit side by side are turned.
	room, widest := (w-60)/float64(len(c.Groups))-6, 0.
	for _, g := range c.Groups {
		widest = max(widest, textWidth(g, 12))
	}
	turned, below := widest > room, 30.
	if turned {
		below = min(24+widest*.6, 130)
	}
	p, err := newPanel(c.Frame, keys, c.Y, y, fmt.Sprintf("bars of %d series in %d groups", len(c.Series), len(c.Groups)), below)
	if err != nil {
		return "", err
	}
	slot := (p.right - p.left) / float64(len(c.Groups))
	width := min(slot*.8/float64(len(c.Series)), 46)
	zero := p.clamp(p.y.at(0))
	for g, group := range c.Groups {
		center := p.left + slot*(float64(g)+.5)
		at := center - width*float64(len(c.Series))/2
		for i, s := range c.Series {
			v := s.Values[g]
			top := p.clamp(p.y.at(v.Y))
			gap := min(width*.12, 2)
			p.addf(`<rect class="lx-f%s" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, colour[i],
				px(at+gap/2), px(min(top, zero)), px(width-gap), px(math.Abs(zero-top)), html.EscapeString(join(s.Name, group, v.text())))
			if v.interval() {
				p.whisker(at+width/2, p.clamp(p.y.at(v.Low)), p.clamp(p.y.at(v.High)), min(width*.25, 4))
			}
			at += width
		}
		if turned {
			label := fit(group, (center-4)/.82, 12)
			p.addf(`<text class="" text-anchor="end" transform="translate(%s %s) rotate(-35)">%s</text>`, px(center+4), px(p.bottom+16), html.EscapeString(label))
		} else {
			p.text("", "middle", center, p.bottom+18, group)
		}
	}
	p.line("lx-rule", p.left, zero, p.right, zero)
	return p.done(), nil
}

// colourOf gives each series a colour; base series are grey.
func colourOf(n int, base func(i int) bool) []string {
	out := make([]string, n)
	next := 0
	for i := range out {
		if base(i) {
			out[i] = "b"
			continue
		}
		out[i] = strconv.Itoa(next % colours)
		next++
	}
	return out
}
