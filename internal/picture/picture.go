// Package picture reads images and computes the pixel values that a vision model takes as input. Start
// with [Decode], then [LoadProcessor] and [Processor.Process].
//
// Decode reads PNG, JPEG, GIF, WebP, BMP and TIFF, and turns an image upright by its EXIF orientation. An
// image beyond MaxSide or MaxPixels is refused from its header, before it takes memory. A Processor
// crops, scales and normalises as the preprocessor_config.json of the model says, with the arithmetic of
// Pillow: values differ from the reference by rounding alone. It is safe for concurrent use. Bytes that
// are not a readable image are ErrImage.
package picture

import (
	"errors"
	"fmt"
)

// Limits of Decode.
const (
	// MaxBytes is the maximum length of an image file in bytes.
	MaxBytes = 64 << 20
	// MaxSide is the maximum width and height in pixels.
	MaxSide = 20_000
	// MaxPixels is the maximum number of pixels. Decoding allocates at most 16 bytes a pixel.
	// Progressive JPEGs, and TIFFs of 16 bits a channel, take up to 32, so the limit for them is half
	// as many pixels.
	MaxPixels = 64_000_000
)

// ErrImage is wrapped by errors about bytes that are not an image, or not a supported one.
var ErrImage = errors.New("unusable image")

// Image is an image with 8 bits for each of red, green and blue. Pix has H rows from the top, of 3·W
// bytes. W and H are 1 or more.
type Image struct {
	W, H int
	Pix  []uint8
}

// New returns a black image of w by h pixels. Both must be 1 or more.
func New(w, h int) *Image { return &Image{W: w, H: h, Pix: make([]uint8, 3*w*h)} }

// row returns the bytes of row y.
func (m *Image) row(y int) []uint8 { return m.Pix[3*m.W*y : 3*m.W*(y+1)] }

// Crop returns a copy of the columns [x, x+w) and rows [y, y+h). Pixels outside the image are black.
func (m *Image) Crop(x, y, w, h int) *Image {
	out := New(w, h)
	left, right := max(0, x), min(m.W, x+w)
	for r := max(0, y); r < min(m.H, y+h) && left < right; r++ {
		copy(out.row(r - y)[3*(left-x):], m.row(r)[3*left:3*right])
	}
	return out
}

// Flip returns the image mirrored left to right.
func (m *Image) Flip() *Image { return m.turned(2) }

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrImage, fmt.Errorf(format, args...))
}
