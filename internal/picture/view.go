package picture

import (
	"fmt"
	"math/bits"
	"strings"
)

// View is a part of an image: a crop, an image with cells hidden, or a mirror image. The zero value is
// the whole image.
type View struct {
	X, Y, W, H int    // crop, in thousandths of the width and height; W and H 0 for the whole
	Hide       uint64 // hidden cells of 8 rows of 8, the first in the lowest bit
	Flip       bool
}

// hideCells is the number of cells in a row and a column.
const hideCells = 8

// String returns v as text, such as "crop=100,0,500,500 hide=00000000000000ff flip"; "" for the whole
// image.
func (v View) String() string {
	var parts []string
	if v.W > 0 {
		parts = append(parts, fmt.Sprintf("crop=%d,%d,%d,%d", v.X, v.Y, v.W, v.H))
	}
	if v.Hide != 0 {
		parts = append(parts, fmt.Sprintf("hide=%016x", v.Hide))
	}
	if v.Flip {
		parts = append(parts, "flip")
	}
	return strings.Join(parts, " ")
}

// ParseView parses a string in the form that String returns. Errors wrap ErrImage.
func ParseView(s string) (v View, err error) {
	for _, part := range strings.Fields(s) {
		var n int
		switch name, _, _ := strings.Cut(part, "="); name {
		case "crop":
			n, err = fmt.Sscanf(part, "crop=%d,%d,%d,%d", &v.X, &v.Y, &v.W, &v.H)
		case "hide":
			n, err = fmt.Sscanf(part, "hide=%x", &v.Hide)
		case "flip":
			v.Flip = true
		default:
			err = fmt.Errorf("known are crop, hide and flip")
		}
		if err != nil {
			return v, wrong("a part of an image %.80q that is no part: %d numbers read: %w", s, n, err)
		}
	}
	if v.W > 0 && (v.H < 1 || v.X < 0 || v.Y < 0 || v.X+v.W > 1000 || v.Y+v.H > 1000) || v.W <= 0 && (v.X|v.Y|v.W|v.H) != 0 {
		return v, wrong("a part of an image %.80q that lies outside of it", s)
	}
	return v, nil
}

// Apply returns the view of m, which must have at least one pixel. Hidden cells get the mean colour of
// the image.
func (v View) Apply(m *Image) *Image {
	if v.Hide != 0 {
		m = m.without(v.Hide)
	}
	if v.W > 0 {
		x, y := v.X*m.W/1000, v.Y*m.H/1000
		m = m.Crop(min(x, m.W-1), min(y, m.H-1), min(max(1, v.W*m.W/1000), m.W-min(x, m.W-1)), min(max(1, v.H*m.H/1000), m.H-min(y, m.H-1)))
	}
	if v.Flip {
		m = m.Flip()
	}
	return m
}

// without returns the image with the given cells in its mean colour.
func (m *Image) without(cells uint64) *Image {
	out := &Image{m.W, m.H, append([]uint8(nil), m.Pix...)}
	var sum [3]int
	for i, x := range m.Pix {
		sum[i%3] += int(x)
	}
	for ; cells != 0; cells &= cells - 1 {
		at := bits.TrailingZeros64(cells)
		r, c := at/hideCells, at%hideCells
		for y := r * m.H / hideCells; y < (r+1)*m.H/hideCells; y++ {
			row := out.row(y)
			for x := 3 * (c * m.W / hideCells); x < 3*((c+1)*m.W/hideCells); x++ {
				row[x] = uint8(sum[x%3] / (m.W * m.H))
			}
		}
	}
	return out
}
