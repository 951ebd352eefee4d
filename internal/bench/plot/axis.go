package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/digits"
)

// scale maps values of an axis to positions between a and b.
type scale struct {
	log      bool
	from, to float64
	a, b     float64
	ticks    []float64
}

// newScale fits an axis to the values it must show. withZero keeps 0 on it, as
// bars need.
func newScale(x Axis, low, high float64, withZero bool, wanted int) (scale, error) {
	s := scale{log: x.Log, from: x.From, to: x.To, ticks: x.Ticks}
	if err := finite("the axis "+x.Label, append([]float64{x.From, x.To}, x.Ticks...)...); err != nil {
		return s, err
	}
	fitted := x.From == 0 && x.To == 0
	if fitted {
		s.from, s.to = low, high
		if withZero {
			s.from, s.to = min(low, 0), max(high, 0)
		}
		for _, t := range x.Ticks {
			s.from, s.to = min(s.from, t), max(s.to, t)
		}
	}
	if s.log && s.from <= 0 {
		return s, fmt.Errorf("%w: the logarithmic axis %q reaches down to %g; all its values must be above 0", ErrChart, x.Label, s.from)
	}
	if s.from > s.to {
		return s, fmt.Errorf("%w: the axis %q runs from %g to %g", ErrChart, x.Label, s.from, s.to)
	}
	same := s.to-s.from <= 1e-9*max(math.Abs(s.from), math.Abs(s.to)) // as far as a chart shows
	switch {
	case same && s.log:
		s.from, s.to = s.from/2, s.to*2
	case same:
		pad := max(math.Abs(s.from)*.1, .5)
		s.from, s.to = s.from-pad, s.to+pad
	case fitted && s.log:
		pad := math.Pow(s.to/s.from, .04)
		s.from, s.to = s.from/pad, s.to*pad
	case fitted && s.ticks == nil && !s.log:
		step := niceStep(s.to-s.from, wanted)
		s.from, s.to = math.Floor(s.from/step+1e-9)*step, math.Ceil(s.to/step-1e-9)*step
	case fitted && !withZero:
		pad := .04 * (s.to - s.from)
		s.from, s.to = s.from-pad, s.to+pad
	}
	if !(s.from < s.to) || math.IsInf(s.to-s.from, 0) || s.log && s.from <= 0 {
		return s, fmt.Errorf("%w: the axis %q runs from %g to %g, which float64 cannot divide", ErrChart, x.Label, low, high)
	}
	if s.ticks == nil {
		s.ticks = s.chooseTicks(wanted)
	}
	return s, nil
}

// at is the position of x.
func (s scale) at(x float64) float64 {
	from, to := s.from, s.to
	if s.log {
		x, from, to = math.Log(x), math.Log(from), math.Log(to)
	}
	return s.a + (x-from)/(to-from)*(s.b-s.a)
}

func (s scale) chooseTicks(wanted int) []float64 {
	var out []float64
	if !s.log {
		step := niceStep(s.to-s.from, wanted)
		for i := math.Ceil(s.from/step - 1e-9); i*step <= s.to+step*1e-9; i++ {
			out = append(out, i*step)
		}
		return out
	}
	steps := []float64{1}
	if s.to/s.from < 1000 {
		steps = []float64{1, 2, 5}
	}
	for e := math.Floor(math.Log10(s.from)); math.Pow(10, e) <= s.to; e++ {
		for _, m := range steps {
			if x := m * math.Pow(10, e); x >= s.from*(1-1e-9) && x <= s.to*(1+1e-9) {
				out = append(out, x)
			}
		}
	}
	return out
}

// niceStep is 1, 2 or 5 times a power of ten, so that about wanted steps
// cover the span.
func niceStep(span float64, wanted int) float64 {
	raw := span / float64(max(wanted, 1))
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tickLabels writes ticks with the smallest common number of decimals that keeps them
// distinct, and thousands with commas.
func tickLabels(ticks []float64, log bool) []string {
	out := make([]string, len(ticks))
	decimals := 0
	for _, t := range ticks {
		for decimals < 6 && math.Abs(t-round(t, decimals)) > 1e-9*max(1, math.Abs(t)) {
			decimals++
		}
	}
	for i, t := range ticks {
		if log {
			out[i] = Number(t)
		} else {
			out[i] = commas(strconv.FormatFloat(t+0, 'f', decimals, 64))
		}
	}
	return out
}

func round(x float64, decimals int) float64 {
	p := math.Pow(10, float64(decimals))
	return math.Round(x*p) / p
}

// Number writes x with four significant digits.
func Number(x float64) string {
	if math.Abs(x) >= 1000 {
		return commas(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return strconv.FormatFloat(roundTo(x, 4), 'f', -1, 64)
}

func roundTo(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return v
}

// commas groups the digits before the point by thousands.
func commas(s string) string {
	if s, minus := strings.CutPrefix(s, "-"); minus {
		return "−" + digits.Group(s)
	}
	return digits.Group(s)
}
