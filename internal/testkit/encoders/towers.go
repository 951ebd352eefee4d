package encoders

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
)

// Towers is an encoder of images and of texts as queries, like a CLIP, without a model. The vector of
// an image is the mean state of Pixels, projected to another dimension. A text is a list of colours.
// Its vector is that of an image of these colours side by side.
type Towers struct {
	*Pixels
	out     int
	project []float32 // [out × dim]
}

// NewTowers returns a Towers with vectors of length out and states of length states.
func NewTowers(out, states int) *Towers {
	r := rand.New(rand.NewPCG(8, uint64(out)))
	e := &Towers{Pixels: NewPixels(states), out: out, project: make([]float32, out*states)}
	for i := range e.project {
		e.project[i] = float32(r.NormFloat64())
	}
	return e
}

// Colours are the colours that a text may name.
var Colours = map[string][3]uint8{
	"red": {230, 20, 20}, "green": {20, 200, 40}, "blue": {20, 40, 230}, "yellow": {230, 220, 20}, "black": {5, 5, 5}, "white": {250, 250, 250},
}

// Paint returns an image of colours side by side, as the bytes of a BMP.
func Paint(colours ...string) ([]byte, error) {
	const side = pixelGrid * pixelSide
	m := &picture.Image{W: side, H: side, Pix: make([]uint8, 3*side*side)}
	for i := range side * side {
		c, known := Colours[colours[i%side*len(colours)/side]]
		if !known {
			return nil, fmt.Errorf("no colour %q", colours)
		}
		copy(m.Pix[3*i:], c[:])
	}
	return m.Encode()
}

// Encode implements encoder.Encoder.
func (e *Towers) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	images := make([]encoder.Input, len(in))
	for i := range in {
		images[i] = in[i]
		if role != encoder.Query || !in[i].IsText() {
			continue
		}
		b, err := Paint(strings.Fields(in[i].Text)...)
		if err != nil {
			return nil, &encoder.TextError{Text: i, Err: err}
		}
		images[i] = encoder.Input{Media: picture.MediaBMP, Data: b}
	}
	out, err := e.Pixels.Encode(ctx, role, images, need)
	for i := range out {
		if in[i].IsText() {
			out[i].Hidden = nil
		}
		if need&encoder.NeedDense == 0 {
			continue
		}
		v := make([]float32, e.out)
		for r := range v {
			for j, x := range out[i].Dense {
				v[r] += e.project[r*e.dim+j] * x
			}
		}
		if out[i].Dense = make([]float32, e.out); !encoder.PoolCLS.Pool(out[i].Dense, v) {
			return nil, &encoder.TextError{Text: i, Err: encoder.ErrContract}
		}
	}
	return out, err
}

// Dim implements encoder.Encoder.
func (e *Towers) Dim() int { return e.out }

// Fingerprint implements encoder.Encoder.
func (e *Towers) Fingerprint() encoder.Fingerprint {
	f := e.Pixels.Fingerprint()
	f.Model, f.Dim, f.StateDim = "towers", e.out, e.dim
	return f
}
