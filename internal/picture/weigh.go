package picture

import "image"

// Weigh returns the image with the brightness of its patches, rows by cols from the top, set by
// weights. A patch of the largest weight keeps its colours; a patch of weight 0 or less keeps a
// quarter of its brightness. weights has rows·cols numbers; missing ones are 0.
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

// Beside returns the images side by side, scaled to the given height, with a few white pixels between
// them.
func Beside(height int, images ...*Image) image.Image {
	const gap = 8
	width := gap * (len(images) - 1)
	scaled := make([]*Image, len(images))
	for i, m := range images {
		scaled[i] = m.Resize(max(1, m.W*height/m.H), height, Nearest)
		width += scaled[i].W
	}
	out := New(width, height)
	for i := range out.Pix {
		out.Pix[i] = 255
	}
	at := 0
	for _, m := range scaled {
		for y := range height {
			copy(out.row(y)[3*at:], m.row(y))
		}
		at += m.W + gap
	}
	return out.Std()
}
