package plot

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
)

// Style is the style sheet of all charts, without the style element. All its class names begin with
// "lx-".
const Style = `.lx-chart{--lx-ink:#1f2328;--lx-soft:#59636e;--lx-rule:#d1d9e0;--lx-grid:#e8ecf0;--lx-base:#8b949e;` +
	`--lx-0:#0072b2;--lx-1:#d55e00;--lx-2:#009e73;--lx-3:#b5549a;--lx-4:#d99a00;--lx-5:#3d9fd8;--lx-6:#6f4fb0;--lx-7:#8c5a2b;` +
	`font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:12px;max-width:100%;height:auto}
@media (prefers-color-scheme:dark){.lx-chart{--lx-ink:#e6edf3;--lx-soft:#9da7b1;--lx-rule:#444c56;--lx-grid:#2a313a;--lx-base:#7d8590;` +
	`--lx-0:#4ba3e3;--lx-1:#ff8f4f;--lx-2:#2fc799;--lx-3:#e392cb;--lx-4:#f0b429;--lx-5:#8fd0f7;--lx-6:#b49bea;--lx-7:#c9976b}}
.lx-chart text{fill:var(--lx-ink)}.lx-chart .lx-soft{fill:var(--lx-soft)}.lx-chart .lx-title{font-size:14px;font-weight:600}
.lx-grid{stroke:var(--lx-grid);stroke-width:1}.lx-rule{stroke:var(--lx-soft);stroke-width:1}
.lx-whisker{stroke:var(--lx-ink);stroke-width:1.1;fill:none}.lx-line{fill:none;stroke-width:2;stroke-linejoin:round}.lx-band{opacity:.16}
` + colourRules

// colours is the number of distinct colours.
const colours = 8

const colourRules = `.lx-fb{fill:var(--lx-base)}.lx-sb{stroke:var(--lx-base)}` +
	`.lx-f0{fill:var(--lx-0)}.lx-s0{stroke:var(--lx-0)}.lx-f1{fill:var(--lx-1)}.lx-s1{stroke:var(--lx-1)}` +
	`.lx-f2{fill:var(--lx-2)}.lx-s2{stroke:var(--lx-2)}.lx-f3{fill:var(--lx-3)}.lx-s3{stroke:var(--lx-3)}` +
	`.lx-f4{fill:var(--lx-4)}.lx-s4{stroke:var(--lx-4)}.lx-f5{fill:var(--lx-5)}.lx-s5{stroke:var(--lx-5)}` +
	`.lx-f6{fill:var(--lx-6)}.lx-s6{stroke:var(--lx-6)}.lx-f7{fill:var(--lx-7)}.lx-s7{stroke:var(--lx-7)}`

// Standalone returns c as a complete SVG document.
func Standalone(c Chart) (string, error) {
	s, err := c.SVG()
	if err != nil {
		return "", err
	}
	head, rest, _ := strings.Cut(s, ">")
	return head + `><style>` + Style + `</style>` + rest, nil
}

// drawing collects the elements of one svg.
type drawing struct {
	b        strings.Builder
	w, h     float64
	describe string
}

func (d *drawing) done() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="lx-chart" role="img" viewBox="0 0 %s %s" width="%s" height="%s" aria-label="%s">`,
		px(d.w), px(d.h), px(d.w), px(d.h), html.EscapeString(d.describe)) + "\n" + d.b.String() + "</svg>"
}

func (d *drawing) addf(format string, args ...any) {
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.addf(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

// text writes s; anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, s string) {
	d.addf(`<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, px(x), px(y), html.EscapeString(s))
}

// whisker draws the interval of v at x.
func (d *drawing) whisker(x, low, high, cap float64) {
	d.addf(`<path class="lx-whisker" d="M%s %sH%sM%s %sV%sM%s %sH%s"/>`,
		px(x-cap), px(low), px(x+cap), px(x), px(low), px(high), px(x-cap), px(high), px(x+cap))
}

// mark draws the shape of a series around a point, with a tooltip.
func (d *drawing) mark(shape int, class string, x, y float64, tip string) {
	const r = 4.
	tip = "<title>" + html.EscapeString(tip) + "</title>"
	poly := func(points ...float64) {
		var b strings.Builder
		for i := 0; i < len(points); i += 2 {
			fmt.Fprintf(&b, "%s,%s ", px(x+points[i]), px(y+points[i+1]))
		}
		d.addf(`<polygon class="%s" points="%s">%s</polygon>`, class, strings.TrimSpace(b.String()), tip)
	}
	switch shape % 5 {
	case 0:
		d.addf(`<circle class="%s" cx="%s" cy="%s" r="%s">%s</circle>`, class, px(x), px(y), px(r), tip)
	case 1:
		poly(-r+.4, -r+.4, r-.4, -r+.4, r-.4, r-.4, -r+.4, r-.4)
	case 2:
		poly(0, -r-1, r+.6, r-.4, -r-.6, r-.4)
	case 3:
		poly(0, -r-1.2, r+1.2, 0, 0, r+1.2, -r-1.2, 0)
	case 4:
		poly(0, r+1, r+.6, -r+.4, -r-.6, -r+.4)
	}
}

// key is one entry of a legend.
type key struct {
	name  string
	class string // colour, "0" to "7" or "b"
	shape int    // mark, or -1 for a box
}

// legend writes keys from x on, in as many rows as they need, and returns the
// position below them.
func (d *drawing) legend(keys []key, x, y, right float64) float64 {
	at := x
	for _, k := range keys {
		width := 18 + textWidth(k.name, 12) + 16
		if at > x && at+width-16 > right {
			at, y = x, y+legendRow
		}
		if k.shape < 0 {
			d.addf(`<rect class="lx-f%s" x="%s" y="%s" width="11" height="11" rx="2"/>`, k.class, px(at), px(y-9.5))
		} else {
			d.line("lx-line lx-s"+k.class, at-2, y-4, at+14, y-4)
			d.mark(k.shape, "lx-f"+k.class, at+6, y-4, k.name)
		}
		d.text("", "start", at+18, y, k.name)
		at += width
	}
	return y
}

// px writes a coordinate with at most two decimals.
func px(x float64) string { return strconv.FormatFloat(round(x, 2)+0, 'f', -1, 64) }

// textWidth estimates the width of s in a sans serif face.
func textWidth(s string, size float64) float64 {
	w := 0.
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljtfrI.,:;'|!()[] -", r):
			w += .34
		case strings.ContainsRune("mwMW@%+", r):
			w += .86
		case unicode.IsUpper(r):
			w += .7
		case r > 0x2e80: // ideographs take a square
			w += 1
		default:
			w += .57
		}
	}
	return w * size
}

// fit cuts s to a width, and marks the cut with an ellipsis.
func fit(s string, width, size float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && textWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
