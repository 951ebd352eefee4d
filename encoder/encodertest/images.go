package encodertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

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
		{"Concurrency", testImageConcurrency},
		{"Cancel", testImageCancel},
	} {
		t.Run(part.name, func(t *testing.T) {
			e := open(t)
			part.test(t, e)
			if err := e.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Run("Close", func(t *testing.T) {
		e := open(t)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for _, need := range []encoder.Need{0, encoder.NeedDense, encoder.NeedHidden} {
			if _, err := e.Encode(context.Background(), encoder.Passage, encoders.Images(t, 2), need); !errors.Is(err, encoder.ErrClosed) {
				t.Errorf("after Close: %v, want ErrClosed", err)
			}
		}
		if err := e.Close(); !errors.Is(err, encoder.ErrClosed) {
			t.Errorf("second Close: %v, want ErrClosed", err)
		}
	})
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
	if f.Dim != e.Dim() || f.VocabSize != e.VocabSize() {
		t.Errorf("fingerprint says dimension %d and %d ids, the encoder %d and %d", f.Dim, f.VocabSize, e.Dim(), e.VocabSize())
	}
	if err := encoder.Check("itself", f, e.Fingerprint()); err != nil {
		t.Error(err)
	}
	for i, o := range encodeImages(t, e, encoders.Images(t, 4), encoder.NeedDense) {
		if f.Probed() {
			checkSame(t, fmt.Sprintf("probe %d against the fingerprint", i), o.Dense, f.Probe[i])
		}
	}
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

func testImageConcurrency(t *testing.T, e encoder.Encoder) {
	in := encoders.Images(t, 10)
	want := encodeImages(t, e, in, encoder.NeedDense)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 3 {
				k := (3*g + i) % len(in)
				out, err := e.Encode(context.Background(), encoder.Query, in[k:], encoder.NeedDense)
				if err != nil || len(out) != len(in)-k {
					t.Errorf("goroutine %d: %d results, %v", g, len(out), err)
					return
				}
				for j := range out {
					checkSame(t, fmt.Sprintf("goroutine %d, image %d", g, j), out[j].Dense, want[k+j].Dense)
				}
			}
		})
	}
	wg.Wait()
}

func testImageCancel(t *testing.T, e encoder.Encoder) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := encoders.Images(t, 40)
	if _, err := e.Encode(ctx, encoder.Passage, in, encoder.NeedDense); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v, want context.Canceled", err)
	}
	for len(in) < 20_000 {
		in = append(in, in...)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	out, err := e.Encode(ctx, encoder.Passage, in, encoder.NeedDense)
	if err == nil && len(out) != len(in) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled midway: %d results, %v", len(out), err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("cancelled after 50 ms, but it took %v", took)
	}
}
