package picture

import (
	"fmt"
	"math"
)

// Filter is a resampling filter. The numbers are those of Pillow and preprocessor_config.json.
type Filter int

// Resampling filters.
const (
	Nearest  Filter = 0
	Lanczos  Filter = 1
	Bilinear Filter = 2
	Bicubic  Filter = 3
	Box      Filter = 4
	Hamming  Filter = 5
)

// kernel is a filter's weight of a pixel, by its distance in pixels of the smaller image. reach is the
// distance at which the weight becomes 0.
type kernel struct {
	reach  float64
	weight func(x float64) float64
}

// kernels are those of the filters; Nearest has none.
var kernels = [...]kernel{
	Lanczos: {3, func(x float64) float64 {
		if x < -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
	Bilinear: {1, func(x float64) float64 { return max(0, 1-math.Abs(x)) }},
	Bicubic: {2, func(x float64) float64 {
		const a = -0.5
		switch x = math.Abs(x); {
		case x < 1:
			return ((a+2)*x-(a+3))*x*x + 1
		case x < 2:
			return (((x-5)*x+8)*x - 4) * a
		}
		return 0
	}},
	Box: {0.5, func(x float64) float64 {
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	}},
	Hamming: {1, func(x float64) float64 {
		x = math.Abs(x)
		if x >= 1 {
			return 0
		}
		return sinc(x) * (0.54 + 0.46*math.Cos(x*math.Pi))
	}},
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// check refuses an unknown filter.
func (f Filter) check() error {
	if f < Nearest || int(f) >= len(kernels) {
		return fmt.Errorf("resample is %d; known are 0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box), 5 (hamming)", f)
	}
	return nil
}

// Resize returns the image scaled to w by h pixels, with the same bits as Image.resize of Pillow 12.0:
// rows first, then columns, each in 8 bits, with weights of 22 fractional bits. (Later versions begin
// with columns if that is less work, and differ by rounding.) A side that keeps its length is
// unchanged. Memory: the result, and an image of w by m.H pixels. f must be one of the filters, w and
// h 1 or more.
func (m *Image) Resize(w, h int, f Filter) *Image {
	if f == Nearest {
		return m.nearest(w, h)
	}
	out := m
	if w != m.W {
		from := out
		out = New(w, from.H)
		taps := tapsOf(from.W, w, kernels[f])
		for y := range out.H {
			in, row := from.row(y), out.row(y)
			for x, t := range taps {
				blend(row[3*x:3*x+3], in[3*t.first:], 3, t.weights)
			}
		}
	}
	if h != m.H {
		from := out
		out = New(w, h)
		for y, t := range tapsOf(from.H, h, kernels[f]) {
			row := out.row(y)
			for x := range w {
				blend(row[3*x:3*x+3], from.Pix[3*(t.first*w+x):], 3*w, t.weights)
			}
		}
	}
	if out == m {
		out = m.Crop(0, 0, m.W, m.H)
	}
	return out
}

// taps are the pixels that contribute to one pixel of the result: the first one, and the weights in
// fixed point with weightBits fractional bits.
type taps struct {
	first   int
	weights []int32
}

const weightBits = 22

func tapsOf(in, out int, k kernel) []taps {
	scale := float64(in) / float64(out)
	wide := max(scale, 1)
	reach := k.reach * wide
	all := make([]taps, out)
	for i := range all {
		center := (float64(i) + 0.5) * scale
		first := max(0, int(center-reach+0.5))
		end := min(in, int(center+reach+0.5))
		weights := make([]float64, end-first)
		sum := 0.0
		for j := range weights {
			weights[j] = k.weight((float64(j+first) - center + 0.5) * (1 / wide))
			sum += weights[j]
		}
		t := taps{first, make([]int32, len(weights))}
		for j, w := range weights {
			if sum != 0 {
				w *= 1 / sum
			}
			t.weights[j] = int32(math.Copysign(0.5, w) + w*(1<<weightBits))
		}
		all[i] = t
	}
	return all
}

// blend computes the three channels of a pixel from pixels that are step bytes apart.
func blend(dst, src []uint8, step int, weights []int32) {
	r, g, b := int32(1<<(weightBits-1)), int32(1<<(weightBits-1)), int32(1<<(weightBits-1))
	for i, w := range weights {
		p := src[i*step : i*step+3]
		r += int32(p[0]) * w
		g += int32(p[1]) * w
		b += int32(p[2]) * w
	}
	dst[0], dst[1], dst[2] = clip(r), clip(g), clip(b)
}

func clip(x int32) uint8 { return uint8(min(max(x>>weightBits, 0), 255)) }

// nearest takes for each pixel of the result the pixel that contains its middle.
func (m *Image) nearest(w, h int) *Image {
	out := New(w, h)
	columns, rows := middles(m.W, w), middles(m.H, h)
	for y, sy := range rows {
		row, in := out.row(y), m.row(sy)
		for x, sx := range columns {
			copy(row[3*x:3*x+3], in[3*sx:])
		}
	}
	return out
}

// middles returns the input positions of the middles of the output pixels. They are summed step by
// step, as in the reference.
func middles(in, out int) []int {
	step := float64(in) / float64(out)
	at := step / 2
	all := make([]int, out)
	for i := range all {
		all[i] = min(int(at), in-1)
		at += step
	}
	return all
}
