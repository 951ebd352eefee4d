package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func sampleCharts() map[string]Chart {
	return map[string]Chart{
		"bars": Bars{
			Frame: Frame{Title: "nDCG@10 by task", Width: 880}, Y: Axis{Label: "nDCG@10 × 100"},
			Groups: []string{"query", "keyword", "part:16"},
			Series: []BarSeries{
				{Name: "dense", Base: true, Values: []Value{{96.9, 96.3, 97.5}, {71.5, 69.9, 73}, {87.8, 86.6, 88.9}}},
				{Name: "rlr+slr", Values: []Value{{97.4, 96.9, 97.9}, {93, 92.1, 93.9}, {98.2, 97.8, 98.6}}},
				{Name: "<bm25 & co>", Values: []Value{{88.5, 87.4, 89.6}, {Y: 99.6}, {Y: 99.9}}},
			},
		},
		"bars-turned": Bars{
			Frame: Frame{Width: 360}, Y: Axis{Label: "difference"},
			Groups: []string{"a group with a long name", "another of the kind", "and a third one here"},
			Series: []BarSeries{{Name: "x", Values: []Value{{Y: -3}, {Y: 4}, {Y: 0}}}},
		},
		"lines": Lines{
			Frame: Frame{Title: "Score against span length"},
			X:     Axis{Label: "words", Log: true, Ticks: []float64{4, 8, 16, 32, 64}}, Y: Axis{Label: "nDCG@1 × 100"},
			Series: []Line{
				{Name: "dense", Base: true, Points: []Point{{X: 4, Value: Value{30, 28, 32}}, {X: 8, Value: Value{57, 55, 59}}, {X: 64, Value: Value{99, 98.5, 99.4}}}},
				{Name: "rlr", Points: []Point{{X: 4, Value: Value{Y: 50}}, {X: 8, Value: Value{Y: 74}, Label: "ef 16"}, {X: 64, Value: Value{Y: 99.4}}}},
				{Name: "one", Points: []Point{{X: 16, Value: Value{80, 70, 90}}}},
			},
		},
		"lines-log": Lines{X: Axis{Label: "recall", From: .8, To: 1}, Y: Axis{Label: "queries a second", Log: true},
			Series: []Line{{Name: "hnsw", Points: []Point{{X: .9, Value: Value{Y: 20000}}, {X: .99, Value: Value{Y: 900}}}}}},
		"many":        manyBars(),
		"differences": Differences{Frame: Frame{Height: 220}, Y: Axis{Label: "Δ nDCG@10"}, Values: []float64{.5, 0, 0, -1, .25, 0, .5}},
	}
}

// manyBars has a legend as high as the chart, which grows by it.
func manyBars() Bars {
	b := Bars{Frame: Frame{Width: 240, Height: 160}, Groups: []string{"g"}}
	for i := range 30 {
		b.Series = append(b.Series, BarSeries{Name: strings.Repeat("long ", 5) + strconv.Itoa(i), Values: []Value{{Y: 1}}})
	}
	return b
}

// TestChartsAreWellFormed parses every chart as XML and holds all coordinates
// to finite numbers within the view box.
func TestChartsAreWellFormed(t *testing.T) {
	for name, c := range sampleCharts() {
		s, err := c.SVG()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, _ := c.SVG()
		if s != again {
			t.Errorf("%s: drawn twice it differs", name)
		}
		checkSVG(t, name, s)
		alone, err := Standalone(c)
		if err != nil || !strings.Contains(alone, "<style>"+Style) {
			t.Errorf("%s: standalone without style (%v)", name, err)
		}
		checkSVG(t, name, alone)
		if strings.Contains(alone, "href") || strings.Contains(alone, "url(") || strings.Contains(alone, "@import") {
			t.Errorf("%s: refers to something outside", name)
		}
	}
}

func checkSVG(t *testing.T, name, s string) {
	t.Helper()
	var w, h float64
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r":
				v, err := strconv.ParseFloat(a.Value, 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s: %s of %s is %q", name, a.Name.Local, e.Name.Local, a.Value)
				}
				switch {
				case e.Name.Local == "svg" && a.Name.Local == "width":
					w = v
				case e.Name.Local == "svg" && a.Name.Local == "height":
					h = v
				case v < -1 || v > max(w, h)+1 || strings.HasPrefix(a.Name.Local, "y") && v > h+1 || strings.HasPrefix(a.Name.Local, "x") && v > w+1:
					t.Errorf("%s: %s of %s is %v outside %v × %v", name, a.Name.Local, e.Name.Local, v, w, h)
				}
			}
		}
	}
}

func TestTextIsEscapedAndValuesStandInTooltips(t *testing.T) {
	s, err := sampleCharts()["bars"].SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;bm25 &amp; co&gt;", "rlr+slr · keyword · 93 (92.1 to 93.9)", ">100<", "lx-fb", "lx-f1"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in the chart", want)
		}
	}
	if strings.Contains(s, "<bm25") {
		t.Error("a name was written as markup")
	}
}

// TestBarsAreAsHighAsTheirValues reads heights back.
func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	s, err := Bars{Y: Axis{From: 0, To: 100}, Groups: []string{"g"},
		Series: []BarSeries{{Name: "a", Values: []Value{{Y: 25}}}, {Name: "b", Values: []Value{{Y: 75}}}}}.SVG()
	if err != nil {
		t.Fatal(err)
	}
	var heights []float64
	for _, part := range strings.Split(s, "<rect ")[1:] {
		if !strings.Contains(part[:strings.Index(part, ">")], "rx=") { // not the legend's
			_, rest, _ := strings.Cut(part, `height="`)
			h, _, _ := strings.Cut(rest, `"`)
			v, _ := strconv.ParseFloat(h, 64)
			heights = append(heights, v)
		}
	}
	if len(heights) != 2 || math.Abs(heights[1]/heights[0]-3) > 1e-3 {
		t.Errorf("heights are %v, want 1 to 3", heights)
	}
}

func TestRefusals(t *testing.T) {
	one := []Value{{Y: 1}}
	for name, c := range map[string]Chart{
		"no bars":       Bars{},
		"lengths":       Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Name: "x", Values: one}}},
		"not a number":  Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "x", Values: []Value{{Y: math.NaN()}}}}},
		"infinite":      Lines{Series: []Line{{Points: []Point{{X: math.Inf(1)}}}}},
		"log bars":      Bars{Y: Axis{Log: true}, Groups: []string{"a"}, Series: []BarSeries{{Values: one}}},
		"log of zero":   Lines{X: Axis{Log: true}, Series: []Line{{Points: []Point{{X: 0}}}}},
		"no points":     Lines{Series: []Line{{Name: "x"}}},
		"backwards":     Lines{X: Axis{From: 2, To: 1}, Series: []Line{{Points: []Point{{X: 1}}}}},
		"too small":     Bars{Frame: Frame{Width: 10}, Groups: []string{"a"}, Series: []BarSeries{{Values: one}}},
		"far apart":     Lines{Series: []Line{{Points: []Point{{X: -1.7e308}, {X: 1.7e308}}}}},
		"far apart log": Lines{X: Axis{Log: true}, Series: []Line{{Points: []Point{{X: 5e-324}, {X: 1.7e308}}}}},
		"near zero":     Lines{Series: []Line{{Points: []Point{{X: 0}, {X: 5e-324}}}}},
		"nothing":       Differences{},
		"not a number ": Differences{Values: []float64{math.NaN()}},
	} {
		if _, err := c.SVG(); !errors.Is(err, ErrChart) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis      Axis
		low, high float64
		zero      bool
		want      string
	}{
		{Axis{}, 3, 97, true, "0 20 40 60 80 100"},
		{Axis{}, -.03, .11, true, "−0.05 0.00 0.05 0.10 0.15"},
		{Axis{}, 96.2, 99.1, false, "96 97 98 99 100"},
		{Axis{Log: true}, 10, 2e4, false, "10 100 1,000 10,000"},
		{Axis{Log: true}, 9, 60, false, "10 20 50"},
		{Axis{Ticks: []float64{4, 1000}}, 4, 1000, false, "4 1,000"},
		{Axis{}, 1e17, 1e17 + 16, false, "90,000,000,000,000,000 95,000,000,000,000,000 100,000,000,000,000,000 105,000,000,000,000,000 110,000,000,000,000,000"},
		{Axis{}, 5, 5, false, "4.5 4.7 4.9 5.1 5.3 5.5"},
	} {
		s, err := newScale(c.axis, c.low, c.high, c.zero, 5)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(tickLabels(s.ticks, c.axis.Log), " "); got != c.want && c.low != c.high {
			t.Errorf("%v to %v: ticks %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// TestScalesHoldTheirValues is a property: whatever the values, every one lies
// on the axis that was fitted to them, in order.
func TestScalesHoldTheirValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var v []float64
		for range 1 + rng.IntN(6) {
			v = append(v, rng.NormFloat64()*math.Pow(10, float64(rng.IntN(9)-4)))
		}
		slices.Sort(v)
		for _, log := range []bool{false, true} {
			if log {
				for i := range v {
					v[i] = math.Exp(math.Mod(v[i], 20))
				}
				slices.Sort(v)
			}
			s, err := newScale(Axis{Log: log}, v[0], v[len(v)-1], !log, 5)
			if err != nil {
				t.Fatal(err)
			}
			s.a, s.b = 0, 100
			for i, x := range v {
				if at := s.at(x); at < -1e-6 || at > 100+1e-6 || i > 0 && at < s.at(v[i-1]) {
					t.Fatalf("%v on the axis of %v stands at %v (log %v)", x, v, at, log)
				}
			}
			if len(s.ticks) > 40 {
				t.Fatalf("%d ticks for %v", len(s.ticks), v)
			}
		}
	}
}

// TestWriteSamples writes the charts of this test as files to look at, in the
// folder that LEXSEM_PLOT_DIR names, else in one that is removed.
func TestWriteSamples(t *testing.T) {
	dir := os.Getenv("LEXSEM_PLOT_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	for name, c := range sampleCharts() {
		s, err := Standalone(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
