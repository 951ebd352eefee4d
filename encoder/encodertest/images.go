package encodertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// RunImages is Run for encoders of images. The encoder must return dense vectors in the order of its
// images, to several callers at once, states of as many patches as its fingerprint says, and the
// position of an unreadable image. It must stop with its context and after Close. If VocabSize is
// above 0, it must return one token for each patch.
func RunImages(t *testing.T, open func(t *testing.T) encoder.Encoder) {
	for _, part := range []struct {
		name string
		test func(*testing.T, encoder.Encoder)
	}{
		{"Fingerprint", testImagePrint},
		{"Batches", testImageBatches},
		{"Needs", testImageNeeds},
		{"Refused", testImageRefused},
		{"Concurrency", func(t *testing.T, e encoder.Encoder) { testConcurrency(t, e, encoders.Images(t, 10)) }},
		{"Cancel", func(t *testing.T, e encoder.Encoder) {
			in := encoders.Images(t, 40)
			testCancel(t, e, in, slices.Repeat(in, 500))
		}},
	} {
		t.Run(part.name, func(t *testing.T) {
			e := open(t)
			part.test(t, e)
			if err := e.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Run("Close", func(t *testing.T) { testClose(t, open(t), encoders.Images(t, 2)) })
}

func encodeImages(t *testing.T, e encoder.Encoder, in []encoder.Input, need encoder.Need) []encoder.Output {
	t.Helper()
	out, err := e.Encode(context.Background(), encoder.Query, in, need)
	if err != nil || len(out) != len(in) {
		t.Fatalf("%d results for %d images, %v", len(out), len(in), err)
	}
	patches := e.Fingerprint().MaxTokens
	for i, o := range out {
		if k := o.Tokens; e.VocabSize() == 0 && len(k.IDs)+len(k.Special)+len(k.Offsets) > 0 || e.VocabSize() > 0 && (len(k.IDs) != patches || len(k.Special) != patches || len(k.Offsets) != patches) {
			t.Errorf("image %d has %d tokens of a vocabulary of %d", i, len(k.IDs), e.VocabSize())
		}
		for _, x := range []struct {
			need encoder.Need
			got  []float32
			want int
		}{{encoder.NeedDense, o.Dense, e.Dim()}, {encoder.NeedHidden, o.Hidden, patches * e.Fingerprint().States()}} {
			if want := x.want * min(1, int(need&x.need)); len(x.got) != want {
				t.Fatalf("image %d: %d numbers, want %d", i, len(x.got), want)
			}
		}
	}
	return out
}

func testImagePrint(t *testing.T, e encoder.Encoder) {
	f := e.Fingerprint()
	if f.Model == "" || f.Precision == "" || f.Media != encoder.MediaImages || f.Tokenizer == "" || f.MaxTokens < 1 || f.Grid[0]*f.Grid[1] != f.MaxTokens {
		t.Errorf("incomplete fingerprint: %+v", f)
	}
	checkPrint(t, e, encodeImages(t, e, encoders.Images(t, 4), encoder.NeedDense))
}

func testImageBatches(t *testing.T, e encoder.Encoder) {
	if out := encodeImages(t, e, nil, encoder.NeedDense); len(out) != 0 {
		t.Errorf("%d results for no image", len(out))
	}
	in := encoders.Images(t, 23)
	all := encodeImages(t, e, in, encoder.NeedDense)
	for i := range in {
		one := encodeImages(t, e, in[i:i+1], encoder.NeedDense)[0]
		checkSame(t, fmt.Sprintf("image %d of a batch against itself alone", i), all[i].Dense, one.Dense)
		var s float64
		for _, x := range one.Dense {
			s += float64(x) * float64(x)
		}
		if !(math.Abs(s-1) < 1e-4) {
			t.Errorf("dense vector of squared length %v, want 1", s)
		}
		if i > 0 && encoders.Cosine(all[i-1].Dense, one.Dense) > 0.99999 {
			t.Errorf("images %d and %d have the same vector", i-1, i)
		}
	}
}

func testImageNeeds(t *testing.T, e encoder.Encoder) {
	in := encoders.Images(t, 3)
	encodeImages(t, e, in, 0)
	hidden := encodeImages(t, e, in, encoder.NeedHidden)
	both := encodeImages(t, e, in, encoder.NeedDense|encoder.NeedHidden)
	for i := range in {
		checkSame(t, fmt.Sprintf("states of image %d with dense", i), both[i].Hidden, hidden[i].Hidden)
	}
	clear(both[0].Hidden)
	clear(both[0].Dense)
	checkSame(t, "an image after its first result was overwritten", encodeImages(t, e, in, encoder.NeedHidden)[0].Hidden, hidden[0].Hidden)
	if _, err := e.Encode(context.Background(), encoder.Passage, in, encoder.NeedLogits); !errors.Is(err, encoder.ErrNoLogits) {
		t.Errorf("asked for logits: %v, want ErrNoLogits", err)
	}
}

func testImageRefused(t *testing.T, e encoder.Encoder) {
	in := encoders.Images(t, 9)
	for _, c := range []struct {
		bad  encoder.Input
		want error
	}{
		{encoder.Input{Text: "a text"}, encoder.ErrMedia},
		{encoder.Input{Media: "audio/wav", Data: in[0].Data}, encoder.ErrMedia},
		{encoder.Input{Media: "image/png", Data: []byte("none")}, picture.ErrImage},
		{encoder.Input{Media: "image/png"}, picture.ErrImage},
		{encoder.Input{Media: "image/bmp", Data: in[0].Data[:200]}, picture.ErrImage},
	} {
		in[7] = c.bad
		_, err := e.Encode(context.Background(), encoder.Passage, in, encoder.NeedDense)
		var at *encoder.TextError
		if !errors.Is(err, c.want) || !errors.As(err, &at) || at.Text != 7 {
			t.Errorf("%s of %d bytes: %v; want %v at 7", c.bad.Media, len(c.bad.Data), err, c.want)
		}
	}
}
