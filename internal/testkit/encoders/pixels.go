package encoders

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
)

// Pixels is an encoder of images without a model. The state of each of 8 by 8 patches is a random
// projection of its 16 pixels, and the vector is the mean of the states. It distinguishes colours and
// shapes, but sees nothing across patches.
type Pixels struct {
	dim    int
	matrix []float32 // [dim × pixelValues]
	closed atomic.Bool
}

const (
	pixelGrid   = 8
	pixelSide   = 4
	pixelValues = 3 * pixelSide * pixelSide
)

// NewPixels returns a Pixels with vectors of length dim.
func NewPixels(dim int) *Pixels {
	r := rand.New(rand.NewPCG(7, uint64(dim)))
	e := &Pixels{dim: dim, matrix: make([]float32, dim*pixelValues)}
	for i := range e.matrix {
		e.matrix[i] = float32(r.NormFloat64())
	}
	return e
}

// Encode implements encoder.Encoder.
func (e *Pixels) Encode(ctx context.Context, _ encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if e.closed.Load() {
		return nil, encoder.ErrClosed
	}
	if need&encoder.NeedLogits != 0 {
		return nil, encoder.ErrNoLogits
	}
	files, err := encoder.ImagesOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(files))
	for i, b := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if need == 0 {
			continue
		}
		m, err := picture.Decode(b)
		if err != nil {
			return nil, &encoder.TextError{Text: i, Err: err}
		}
		states := e.states(m.Resize(pixelGrid*pixelSide, pixelGrid*pixelSide, picture.Bilinear))
		if need&encoder.NeedDense != 0 {
			out[i].Dense = make([]float32, e.dim)
			if !encoder.PoolMean.Pool(out[i].Dense, states) {
				return nil, &encoder.TextError{Text: i, Err: encoder.ErrContract}
			}
		}
		if need&encoder.NeedHidden != 0 {
			out[i].Hidden = states
		}
	}
	return out, ctx.Err()
}

func (e *Pixels) states(m *picture.Image) []float32 {
	states := make([]float32, pixelGrid*pixelGrid*e.dim)
	for p := range pixelGrid * pixelGrid {
		var values []float32
		for y := range pixelSide {
			at := 3 * ((p/pixelGrid*pixelSide+y)*m.W + p%pixelGrid*pixelSide)
			for _, x := range m.Pix[at : at+3*pixelSide] {
				values = append(values, float32(x)/255-0.45)
			}
		}
		for d := range e.dim {
			for j, x := range values {
				states[p*e.dim+d] += e.matrix[d*pixelValues+j] * x
			}
		}
	}
	return states
}

// Dim implements encoder.Encoder.
func (e *Pixels) Dim() int { return e.dim }

// VocabSize implements encoder.Encoder: there are no tokens.
func (e *Pixels) VocabSize() int { return 0 }

// Tokenize implements encoder.Encoder: there are no tokens.
func (e *Pixels) Tokenize(encoder.Role, string) encoder.Tokens { return encoder.Tokens{} }

// Fingerprint implements encoder.Encoder.
func (e *Pixels) Fingerprint() encoder.Fingerprint {
	return encoder.Fingerprint{Model: "pixels", Precision: "fp32", Tokenizer: "pixels", Pooling: "mean", MaxTokens: pixelGrid * pixelGrid,
		Dim: e.dim, Media: encoder.MediaImages, Grid: [2]int{pixelGrid, pixelGrid}}
}

// Close implements encoder.Encoder.
func (e *Pixels) Close() error {
	if e.closed.Swap(true) {
		return encoder.ErrClosed
	}
	return nil
}

// Images returns n different images as inputs: flat colours, waves and discs.
func Images(t testing.TB, n int) []encoder.Input {
	t.Helper()
	in := make([]encoder.Input, n)
	for i := range in {
		m := picture.Probe(i % 4)
		if i >= 4 {
			m = m.Crop(i*3%60, i*7%50, 20+i%17, 20+i%13)
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		in[i] = encoder.Input{Media: picture.MediaBMP, Data: b}
	}
	return in
}
