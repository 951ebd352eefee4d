package plot

// panel is the frame of axes that bars, lines and differences are drawn in.
type panel struct {
	*drawing
	left, right, top, bottom float64
	x, y                     scale
}

const (
	titleRow  = 26.
	legendRow = 19.
	labelRow  = 20.
)

// newPanel draws title, legend and the vertical axis with its grid. It leaves room below
// for the labels of the horizontal axis.
func newPanel(f Frame, keys []key, y Axis, yScale scale, describe string, below float64) (*panel, error) {
	w, h, err := f.size()
	if err != nil {
		return nil, err
	}
	if describe = f.Title + ": " + describe; f.Title == "" {
		describe = describe[2:]
	}
	p := &panel{drawing: &drawing{w: w, h: h, describe: describe}, right: w - 14, top: 10}
	if f.Title != "" {
		p.text("lx-title", "start", 12, 20, f.Title)
		p.top += titleRow
	}
	if len(keys) > 0 {
		p.top = p.legend(keys, 14, p.top+9, w-10) + 8
	}
	labels := tickLabels(yScale.ticks, y.Log)
	p.left = 14.
	for _, l := range labels {
		p.left = max(p.left, textWidth(l, 12)+22)
	}
	if y.Label != "" {
		p.text("lx-soft", "start", 12, p.top+12, y.Label)
		p.top += labelRow
	}
	p.top += 8
	p.bottom = h - below
	if p.bottom-p.top < 40 {
		// Long legends must not squeeze the plot away.
		p.h += 40 - (p.bottom - p.top)
		p.bottom = p.top + 40
	}
	p.y = yScale
	p.y.a, p.y.b = p.bottom, p.top
	for i, t := range p.y.ticks {
		at := p.y.at(t)
		if at > p.bottom+.5 || at < p.top-.5 {
			continue
		}
		p.line("lx-grid", p.left, at, p.right, at)
		p.text("lx-soft", "end", p.left-8, at+4, labels[i])
	}
	return p, nil
}

// clamp keeps a vertical position inside the panel.
func (p *panel) clamp(y float64) float64 { return min(max(y, p.top), p.bottom) }
