// Package plot draws the charts of a report as SVG text. Start with [Bars] (grouped bars with intervals),
// [Lines] (lines with intervals) or [Differences] (sorted differences); each is a [Chart]. For an HTML page,
// put [Style] into the page once and call SVG of each chart. [Standalone] makes a separate file.
//
// The text refers to no script, font or image. The same chart gives the same text. Colours follow the light
// or dark scheme of the reader and can be told apart by colour-blind readers (Okabe and Ito 2008). Every mark
// shows its value as a tooltip. A chart that cannot be drawn is ErrChart.
package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// ErrChart: a chart cannot be drawn. It is empty, a value or an axis is not usable, or lengths
// disagree.
var ErrChart = errors.New("chart cannot be drawn")

// Chart is a chart that can be drawn as SVG.
type Chart interface {
	// SVG returns the chart as one svg element. The document must include Style.
	SVG() (string, error)
}

// Frame holds what all charts have in common.
type Frame struct {
	Title string // one line above the chart; "" for none
	// Width and Height are in units of about a pixel, at least 240 × 160. 0 means 760 × 360. The
	// element shrinks to the available space.
	Width, Height float64
}

// Value is a number with its confidence interval. The interval is drawn only if Low is below High.
type Value struct {
	Y, Low, High float64
}

// Axis holds the options of one axis.
type Axis struct {
	Label string
	// Log makes the axis logarithmic. All values must be above 0.
	Log bool
	// From and To are the bounds of the axis. If both are 0, it is fitted to the values.
	From, To float64
	// Ticks are the exact positions of ticks. nil chooses round numbers.
	Ticks []float64
}

func (f Frame) size() (w, h float64, err error) {
	w, h = f.Width, f.Height
	w = cmp.Or(w, 760)
	h = cmp.Or(h, 360)
	if !(w >= 240 && w <= 1e4 && h >= 160 && h <= 1e4) {
		return 0, 0, fmt.Errorf("%w: %g × %g is no size for it; use 240 × 160 to 10,000 × 10,000", ErrChart, w, h)
	}
	return w, h, nil
}

// finite checks that all numbers can be drawn.
func finite(what string, xs ...float64) error {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%w: %s has the value %v; leave it out", ErrChart, what, x)
		}
	}
	return nil
}

// interval reports whether v has an interval.
func (v Value) interval() bool { return v.Low < v.High }

// text is the value as a tooltip shows it.
func (v Value) text() string {
	if v.interval() {
		return fmt.Sprintf("%s (%s to %s)", Number(v.Y), Number(v.Low), Number(v.High))
	}
	return Number(v.Y)
}
