// Package plot draws the charts of a report as SVG text. Start with [Bars] (grouped bars with intervals),
// [Lines] (lines with intervals) or [Differences] (sorted differences); each is a [Chart]. For an HTML page,
// put [Style] into the page once and call SVG of each chart. [Standalone] makes a file of its own.
//
// The text refers to no script, font or image. The same chart gives the same text. Colours follow the light
// or dark scheme of the reader and can be told apart by colour-blind readers (Okabe and Ito 2008). Every mark
// shows its value as a tooltip. A chart that cannot be drawn is ErrChart.
package plot

import (
	"errors"
	"fmt"
	"math"
)

// ErrChart is a chart that cannot be drawn: nothing in it, a value that is not
// a number, or lengths that disagree.
var ErrChart = errors.New("chart cannot be drawn")

// Chart is something that can be drawn.
type Chart interface {
	// SVG is the chart as one svg element that expects Style around it.
	SVG() (string, error)
}

// Frame is what every chart has.
type Frame struct {
	Title string // one line above the chart; empty for none
	// Width and Height in units of about a pixel, at least 240 × 160; 0 means
	// 760 × 360. The element scales down to the room it gets.
	Width, Height float64
}

// Value is a number with the interval it is known to; no interval is drawn
// where Low is not below High.
type Value struct {
	Y, Low, High float64
}

// Axis shapes one direction of a chart.
type Axis struct {
	Label string
	// Log spaces powers evenly; all values must be above 0.
	Log bool
	// From and To bound the axis; where both are 0 it is fitted to the values.
	From, To float64
	// Ticks are put exactly here; nil chooses round numbers.
	Ticks []float64
}

func (f Frame) size() (w, h float64, err error) {
	w, h = f.Width, f.Height
	if w == 0 {
		w = 760
	}
	if h == 0 {
		h = 360
	}
	if !(w >= 240 && w <= 1e4 && h >= 160 && h <= 1e4) {
		return 0, 0, fmt.Errorf("%w: %g × %g is no size for it; use 240 × 160 to 10,000 × 10,000", ErrChart, w, h)
	}
	return w, h, nil
}

// finite holds that all numbers can be drawn.
func finite(what string, xs ...float64) error {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%w: %s has the value %v; leave it out", ErrChart, what, x)
		}
	}
	return nil
}

// interval reports whether v has one.
func (v Value) interval() bool { return v.Low < v.High }

// text is the value as a tooltip shows it.
func (v Value) text() string {
	if v.interval() {
		return fmt.Sprintf("%s (%s to %s)", number(v.Y), number(v.Low), number(v.High))
	}
	return number(v.Y)
}
