package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// format is a kind of image file.
type format struct {
	name, media string
	front       func(b []byte) bool
	config      func(r io.Reader) (image.Config, error)
	decode      func(r io.Reader) (image.Image, error)
}

// formats are the formats that Decode reads. If a file has several images, the first is used.
var formats = []format{
	{"PNG", "image/png", begins("\x89PNG\r\n\x1a\n"), png.DecodeConfig, png.Decode},
	{"JPEG", "image/jpeg", begins("\xff\xd8"), jpeg.DecodeConfig, jpeg.Decode},
	{"GIF", "image/gif", func(b []byte) bool { return begins("GIF87a")(b) || begins("GIF89a")(b) }, gif.DecodeConfig, gif.Decode},
	{"WebP", "image/webp", func(b []byte) bool { return begins("RIFF")(b) && len(b) >= 12 && string(b[8:12]) == "WEBP" }, webp.DecodeConfig, webp.Decode},
	{"BMP", "image/bmp", begins("BM"), bmp.DecodeConfig, bmp.Decode},
	{"TIFF", "image/tiff", func(b []byte) bool { return begins("II*\x00")(b) || begins("MM\x00*")(b) }, tiff.DecodeConfig, tiff.Decode},
}

func begins(with string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(with)) }
}

func formatOf(b []byte) (format, bool) {
	for _, f := range formats {
		if f.front(b) {
			return f, true
		}
	}
	return format{}, false
}

// Media returns the media type of an image from its first bytes, "" if Decode does not know it.
func Media(b []byte) string {
	f, _ := formatOf(b)
	return f.media
}

// Decode reads an image: PNG, JPEG (gray, YCbCr, RGB and CMYK), GIF, WebP, BMP or TIFF. If the file
// is an animation or has several pages, it decodes the first image. It applies the EXIF orientation,
// ignores transparency, and reduces 16 bits to 8. The size is read from the header first, so an image
// beyond MaxSide or MaxPixels takes no memory.
//
// Every error wraps ErrImage. Safe for concurrent use. The result shares nothing with b.
func Decode(b []byte) (m *Image, err error) {
	f, ok := formatOf(b)
	switch {
	case len(b) == 0:
		return nil, wrong("no bytes; give those of an image's file")
	case len(b) > MaxBytes:
		return nil, wrong("a file of %d MiB, at most %d are read; store it smaller", len(b)>>20, MaxBytes>>20)
	case !ok:
		return nil, wrong("its first bytes are of no format that is read (PNG, JPEG, GIF, WebP, BMP, TIFF); convert it to one")
	}
	defer func() { // decoders of others
		if r := recover(); r != nil {
			m, err = nil, wrong("the %s decoder gave up (%v); the file is damaged", f.name, r)
		}
	}()
	c, err := f.config(bytes.NewReader(b))
	if err != nil {
		return nil, unreadable(f, err)
	}
	most := MaxPixels
	if f.name == "JPEG" && progressive(b) || f.name == "TIFF" && (c.ColorModel == color.RGBA64Model || c.ColorModel == color.NRGBA64Model) {
		most /= 2
	}
	if err := checkSize(f.name, c.Width, c.Height, most); err != nil {
		return nil, err
	}
	if f.name == "WebP" {
		if err := checkFrame(b); err != nil {
			return nil, err
		}
	}
	src, err := f.decode(bytes.NewReader(b))
	if err != nil {
		return nil, unreadable(f, err)
	}
	if err := checkSize(f.name, src.Bounds().Dx(), src.Bounds().Dy(), most); err != nil {
		return nil, err
	}
	canvas := src.Bounds()
	if f.name == "GIF" { // whose first frame may be a part of it
		canvas = image.Rect(0, 0, c.Width, c.Height)
	}
	return flat(src, canvas).turned(orientation(f.name, b)), nil
}

func unreadable(f format, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return wrong("the %s file ends early: it was cut off, fetch it again", f.name)
	}
	return wrong("%s: %w; the file is damaged, or of a kind of %s that is not read: convert it to PNG", f.name, err, f.name)
}

func checkSize(name string, w, h, most int) error {
	switch {
	case w < 1 || h < 1:
		return wrong("a %s of %d×%d pixels has none", name, w, h)
	case w > MaxSide || h > MaxSide || w*h > most:
		return wrong("a %s of %d×%d pixels; at most %d a side and %d million in all are read, store it smaller", name, w, h, MaxSide, most/1_000_000)
	}
	return nil
}

// flat copies the pixels of the rectangle canvas. Pixels of the usual kinds keep their stored
// colours, without transparency.
func flat(src image.Image, canvas image.Rectangle) *Image {
	m := New(canvas.Dx(), canvas.Dy())
	part := canvas.Intersect(src.Bounds())
	if p, ok := src.(*image.Paletted); ok {
		palette := make([][3]uint8, 256)
		for i, c := range p.Palette[:min(256, len(p.Palette))] {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			palette[i] = [3]uint8{n.R, n.G, n.B}
		}
		for y := part.Min.Y; y < part.Max.Y; y++ {
			row := m.row(y - canvas.Min.Y)[3*(part.Min.X-canvas.Min.X):]
			for i, at := range p.Pix[p.PixOffset(part.Min.X, y):][:part.Dx()] {
				copy(row[3*i:], palette[at][:])
			}
		}
		return m
	}
	line := image.NewNRGBA(image.Rect(part.Min.X, 0, part.Max.X, 1)) // a row at a time
	for y := part.Min.Y; y < part.Max.Y; y++ {
		row := m.row(y - canvas.Min.Y)[3*(part.Min.X-canvas.Min.X):]
		if stored(row, src, part, y) {
			continue
		}
		draw.Draw(line, line.Bounds(), src, image.Pt(part.Min.X, y), draw.Src)
		for i := range part.Dx() {
			copy(row[3*i:3*i+3], line.Pix[4*i:])
		}
	}
	return m
}

// stored copies a row of an image with straight alpha. A general copy would multiply the colours by
// their alpha and lose them where it is low.
func stored(row []uint8, src image.Image, part image.Rectangle, y int) bool {
	switch s := src.(type) {
	case *image.NRGBA:
		for i, p := 0, s.Pix[s.PixOffset(part.Min.X, y):]; i < part.Dx(); i++ {
			copy(row[3*i:3*i+3], p[4*i:])
		}
	case *image.NRGBA64:
		for i, p := 0, s.Pix[s.PixOffset(part.Min.X, y):]; i < part.Dx(); i++ {
			row[3*i], row[3*i+1], row[3*i+2] = p[8*i], p[8*i+2], p[8*i+4]
		}
	case *image.YCbCr:
		for i := range part.Dx() {
			c := s.YCbCrAt(part.Min.X+i, y)
			row[3*i], row[3*i+1], row[3*i+2] = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
		}
	case *image.NYCbCrA:
		return stored(row, &s.YCbCr, part, y)
	case *image.Gray:
		for i, g := range s.Pix[s.PixOffset(part.Min.X, y):][:part.Dx()] {
			row[3*i], row[3*i+1], row[3*i+2] = g, g, g
		}
	default:
		return false
	}
	return true
}
