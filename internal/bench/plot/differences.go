package plot

import (
	"fmt"
	"slices"
)

// Differences is a chart of one number per query, sorted from the largest gain to the largest loss, as
// a filled curve around zero. The flat part is the queries without a difference.
type Differences struct {
	Frame
	Y      Axis
	Values []float64 // in any order
}

// SVG implements Chart.
func (c Differences) SVG() (string, error) {
	if len(c.Values) == 0 {
		return "", fmt.Errorf("%w: no differences; give at least one", ErrChart)
	}
	if err := finite("the differences", c.Values...); err != nil {
		return "", err
	}
	v := slices.Clone(c.Values)
	slices.Sort(v)
	slices.Reverse(v)
	wins, losses := 0, 0
	for _, d := range v {
		if d > 0 {
			wins++
		} else if d < 0 {
			losses++
		}
	}
	y, err := newScale(c.Y, v[len(v)-1], v[0], true, 4)
	if err != nil {
		return "", err
	}
	keys := []key{
		{fmt.Sprintf("better: %s", Number(float64(wins))), "2", -1},
		{fmt.Sprintf("equal: %s", Number(float64(len(v)-wins-losses))), "b", -1},
		{fmt.Sprintf("worse: %s", Number(float64(losses))), "1", -1},
	}
	p, err := newPanel(c.Frame, keys, c.Y, y, fmt.Sprintf("%d better, %d worse of %d", wins, losses, len(v)), 16)
	if err != nil {
		return "", err
	}
	step := (p.right - p.left) / float64(len(v))
	zero := p.clamp(p.y.at(0))
	// Runs of equal values are one rectangle, so thousands of queries stay small.
	for i := 0; i < len(v); {
		j := i + 1
		for j < len(v) && px(p.y.at(v[j])) == px(p.y.at(v[i])) {
			j++
		}
		if class := sign(v[i]); class != "" {
			at := p.clamp(p.y.at(v[i]))
			p.addf(`<rect class="lx-f%s" x="%s" y="%s" width="%s" height="%s"/>`, class,
				px(p.left+step*float64(i)), px(min(at, zero)), px(step*float64(j-i)), px(max(at, zero)-min(at, zero)))
		}
		i = j
	}
	p.addf(`<line class="lx-sb" stroke-width="2" x1="%s" y1="%s" x2="%s" y2="%s"/>`,
		px(p.left+step*float64(wins)), px(zero), px(p.right-step*float64(losses)), px(zero))
	p.line("lx-rule", p.left, zero, p.right, zero)
	return p.done(), nil
}

func sign(x float64) string {
	switch {
	case x > 0:
		return "2"
	case x < 0:
		return "1"
	}
	return ""
}
