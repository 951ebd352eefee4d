package picture

import "image"

// Weigh returns the image with its patches, rows by cols of them from the top, as bright as their weights: one with
// the largest keeps its colours, one of weight 0 or less a quarter of its light. weights has rows·cols numbers; missing
// ones are 0.
func (m *Image) Weigh(rows, cols int, weights []float64) *Image {
	most := 0.0
	for _, w := range weights {
		most = max(most, w)
	}
	out := New(m.W, m.H)
	for y := range m.H {
		for x := range m.W {
			light := 0.25
			if p := y*rows/m.H*cols + x*cols/m.W; p < len(weights) && weights[p] > 0 {
				light += 0.75 * weights[p] / most
			}
			at := 3 * (y*m.W + x)
			for c := range 3 {
				out.Pix[at+c] = uint8(float64(m.Pix[at+c])*light + 0.5)
			}
		}
	}
	return out
}

// Beside returns two images side by side, a few white pixels between them, both in the given height.
func Beside(a, b *Image, height int) image.Image {
	const gap = 8
	scaled := func(m *Image) *Image { return m.Resize(max(1, m.W*height/m.H), height, Nearest) }
	a, b = scaled(a), scaled(b)
	out := New(a.W+gap+b.W, height)
	for i := range out.Pix {
		out.Pix[i] = 255
	}
	for y := range height {
		copy(out.row(y), a.row(y))
		copy(out.row(y)[3*(a.W+gap):], b.row(y))
	}
	return out.Std()
}
