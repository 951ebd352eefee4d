package picture

import (
	"bytes"
	"image"
	"image/color"

	"golang.org/x/image/bmp"
)

// MediaBMP is the media type of Encode's result.
const MediaBMP = "image/bmp"

// rgb lets encoders of other packages read an Image.
type rgb struct{ *Image }

func (m rgb) ColorModel() color.Model { return color.NRGBAModel }
func (m rgb) Bounds() image.Rectangle { return image.Rect(0, 0, m.W, m.H) }
func (m rgb) At(x, y int) color.Color {
	p := m.Pix[3*(y*m.W+x):]
	return color.NRGBA{p[0], p[1], p[2], 255}
}

// Std returns the image as an image of the standard library. It shares the pixels.
func (m *Image) Std() image.Image { return rgb{m} }

// Encode returns the image as a BMP file, which is fast to write and read and loses nothing: Decode
// gives m again.
func (m *Image) Encode() ([]byte, error) {
	out := image.NewRGBA(image.Rect(0, 0, m.W, m.H))
	for i := range m.W * m.H {
		copy(out.Pix[4*i:4*i+3], m.Pix[3*i:])
		out.Pix[4*i+3] = 255
	}
	var b bytes.Buffer
	b.Grow(54 + 4*m.W*m.H)
	err := bmp.Encode(&b, out)
	return b.Bytes(), err
}
