package picture

import (
	"bytes"
	"image/png"
)

// Thumbnail returns the image file as a PNG whose longer side has at most side pixels. Errors and
// cost are those of Decode.
func Thumbnail(file []byte, side int) ([]byte, error) {
	m, err := Decode(file)
	if err != nil {
		return nil, err
	}
	if longer := max(m.W, m.H); longer > side {
		m = m.Resize(max(1, m.W*side/longer), max(1, m.H*side/longer), Bilinear)
	}
	var b bytes.Buffer
	err = png.Encode(&b, m.Std())
	return b.Bytes(), err
}
