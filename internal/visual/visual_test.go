package visual_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/visual"
)

// clouds are n states around each of size directions, beside a mean that is far from 0.
func clouds(dim, size, n int) (states []float32, of []int) {
	r := rand.New(rand.NewPCG(1, 2))
	centers := make([]float32, dim*size)
	for i := range centers {
		centers[i] = float32(r.NormFloat64())
	}
	for range n {
		for c := range size {
			scale := float32(0.5 + r.Float64())
			for j := range dim {
				states = append(states, 40+scale*(centers[c*dim+j]+0.05*float32(r.NormFloat64())))
			}
			of = append(of, c)
		}
	}
	return states, of
}

// States of one direction get one word, whatever their lengths, and those of others another.
func TestCodebookFindsClouds(t *testing.T) {
	const dim, size = 24, 20
	states, of := clouds(dim, size, 60)
	b, err := visual.FitCodebook(t.Context(), states, dim, 64, 3, 2)
	if err != nil || b.Len() != 64 || b.Dim() != dim {
		t.Fatalf("%v, %v", b, err)
	}
	words := b.Words(nil, states)
	home := map[int32]int{}
	for i, w := range words {
		if c, known := home[w]; known && c != of[i] {
			t.Fatalf("word %d is of the clouds %d and %d", w, c, of[i])
		}
		home[w] = of[i]
	}
	if len(home) < size {
		t.Errorf("%d words for %d clouds", len(home), size)
	}
	again, err := visual.FitCodebook(t.Context(), states, dim, 64, 3, 1)
	if err != nil || !bytes.Equal(again.AppendBinary(nil), b.AppendBinary(nil)) {
		t.Errorf("another codebook of the same states: %v", err)
	}
}

func TestCodebookBytes(t *testing.T) {
	states, _ := clouds(8, 10, 30)
	b, err := visual.FitCodebook(t.Context(), states, 8, 1000, 1, 1)
	if err != nil || b.Len() != 300/4 {
		t.Fatalf("%d words of 300 states, %v", b.Len(), err)
	}
	p := b.AppendBinary(nil)
	back, err := visual.ReadCodebook(p)
	if err != nil || !visual.IsCodebook(p) || !slices.Equal(back.Words(nil, states), b.Words(nil, states)) {
		t.Fatalf("read back: %v", err)
	}
	for at, to := range map[int][]byte{0: p[1:], 1: p[:len(p)-1], 2: p[:25], 3: nil, 4: append(slices.Clone(p[:len(p)-4]), 0, 0, 192, 127), 5: append(slices.Clone(p), 0)} {
		if _, err := visual.ReadCodebook(to); !errors.Is(err, visual.ErrCodebook) {
			t.Errorf("damaged %d: %v", at, err)
		}
	}
}

func FuzzReadCodebook(f *testing.F) {
	states, _ := clouds(3, 10, 30)
	b, err := visual.FitCodebook(f.Context(), states, 3, 16, 1, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		b, err := visual.ReadCodebook(p)
		if err != nil {
			if !errors.Is(err, visual.ErrCodebook) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(b.AppendBinary(nil), p) {
			t.Error("other bytes than were read")
		}
		for _, w := range b.Words(nil, make([]float32, 5*b.Dim())) {
			if w < 0 || int(w) >= b.Len() {
				t.Errorf("word %d of %d", w, b.Len())
			}
		}
	})
}

func TestCodebookRefuses(t *testing.T) {
	states, _ := clouds(4, 10, 30)
	nan := slices.Clone(states)
	nan[5] = nan[5] / 0 * 0
	for name, c := range map[string]struct {
		states    []float32
		dim, size int
		want      error
	}{
		"no dimension":   {states, 0, 64, visual.ErrCodebook},
		"part of one":    {states[:7], 4, 64, visual.ErrCodebook},
		"few words":      {states, 4, 15, visual.ErrCodebook},
		"many words":     {states, 4, 4097, visual.ErrCodebook},
		"few states":     {states[:4*63], 4, 64, visual.ErrFewPatches},
		"all alike":      {make([]float32, 4*1000), 4, 64, visual.ErrFewPatches},
		"not a number":   {nan, 4, 64, visual.ErrCodebook},
		"nothing at all": {nil, 4, 64, visual.ErrFewPatches},
	} {
		if _, err := visual.FitCodebook(t.Context(), c.states, c.dim, c.size, 1, 1); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := visual.FitCodebook(ctx, states, 4, 64, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// worded is an encoder of pixels with a codebook over some images.
func worded(t *testing.T) *visual.Words {
	t.Helper()
	enc := encoders.NewPixels(24)
	w, err := visual.New(enc, 64)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Encode(t.Context(), encoder.Passage, encoders.Images(t, 30), encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	var states []float32
	for _, o := range out {
		states = append(states, o.Hidden...)
	}
	b, err := visual.FitCodebook(t.Context(), states, 24, 64, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Set(b); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPixelsConformance(t *testing.T) {
	encodertest.RunImages(t, func(t *testing.T) encoder.Encoder { return encoders.NewPixels(24) })
}

func TestWordsConformance(t *testing.T) {
	encodertest.RunImages(t, func(t *testing.T) encoder.Encoder { return worded(t) })
}

// The words of an image are those that its text has, term by term, at the offsets of its tokens.
func TestText(t *testing.T) {
	w := worded(t)
	out, err := w.Encode(t.Context(), encoder.Query, encoders.Images(t, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	k := out[0].Tokens
	s := w.Text(k.IDs)
	if lines := strings.Split(s, "\n"); len(lines) != 8 || len(strings.Fields(lines[7])) != 8 {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
	for _, language := range []string{"en", "de", ""} {
		o := text.Defaults()
		o.Language = language
		a, err := text.NewAnalyzer(o)
		if err != nil {
			t.Fatal(err)
		}
		terms := a.Terms(nil, s)
		if len(terms) != len(k.IDs) {
			t.Fatalf("%d terms of %d words", len(terms), len(k.IDs))
		}
		for i, term := range terms {
			if term.Text != fmt.Sprintf("v%04d", k.IDs[i]) || term.Start != int(k.Offsets[i].Start) || term.End != int(k.Offsets[i].End) || visual.Patch(term.Start) != i {
				t.Fatalf("term %d is %+v, token %d at %v", i, term, k.IDs[i], k.Offsets[i])
			}
		}
	}
	again := w.Tokenize(encoder.Query, s)
	if !slices.Equal(again.IDs, k.IDs) || !slices.Equal(again.Offsets, k.Offsets) || len(again.Special) != len(k.IDs) {
		t.Errorf("the text has the tokens %v", again)
	}
	if odd := w.Tokenize(encoder.Query, "v0001 holiday v00 v0063\nv0064  v0x01"); !slices.Equal(odd.IDs, []int32{1, 63}) || odd.Offsets[1].Start != 18 || w.Token(63) != "v0063" || w.Token(64) != "" {
		t.Errorf("tokens %+v", odd)
	}
	if w.Text(nil) != "" {
		t.Error("a text without words")
	}
}

func TestWordsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		enc  encoder.Encoder
		size int
	}{"texts": {encoder.NewHash(8), 64}, "words already": {worded(t), 64}, "few": {encoders.NewPixels(8), 2}, "many": {encoders.NewPixels(8), 5000}} {
		if _, err := visual.New(c.enc, c.size); !errors.Is(err, visual.ErrCodebook) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := worded(t)
	other, err := visual.New(encoders.NewPixels(8), 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Set(w.Codebook()); !errors.Is(err, visual.ErrCodebook) {
		t.Errorf("a codebook of another dimension: %v", err)
	}
	if out, err := other.Encode(t.Context(), encoder.Query, encoders.Images(t, 1), encoder.NeedDense); err != nil || len(out[0].Tokens.IDs) != 0 || out[0].Hidden != nil {
		t.Errorf("without a codebook: %v", err)
	}
}

// A reference gives what the encoder makes of the part that it names.
func TestReferences(t *testing.T) {
	enc := encoders.NewPixels(24)
	images := encoders.Images(t, 3)
	open := func(_ context.Context, name string) (encoder.Input, error) {
		if i := strings.IndexByte("abc", name[0]); i >= 0 && len(name) == 1 {
			return images[i], nil
		}
		return encoder.Input{}, fmt.Errorf("no image %q", name)
	}
	refs := visual.NewReferences(enc, open)
	v := picture.View{X: 250, Y: 500, W: 500, H: 250, Flip: true, Hide: 0xff}
	part := visual.Part(visual.Reference("b", picture.View{}), v)
	out, err := refs.Encode(t.Context(), encoder.Query, encoder.Texts(visual.Reference("a", picture.View{}), part), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	m, err := picture.Decode(images[1].Data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.Apply(m).Encode()
	if err != nil {
		t.Fatal(err)
	}
	want, err := enc.Encode(t.Context(), encoder.Query, []encoder.Input{images[0], {Media: picture.MediaBMP, Data: b}}, encoder.NeedDense)
	if err != nil || !slices.Equal(out[0].Dense, want[0].Dense) || !slices.Equal(out[1].Dense, want[1].Dense) {
		t.Errorf("other vectors than those of the parts: %v", err)
	}
	many := slices.Repeat([]string{"a#"}, 150)
	many[140] = "d#"
	var at *encoder.TextError
	if _, err := refs.Encode(t.Context(), encoder.Query, encoder.Texts(many...), encoder.NeedDense); !errors.As(err, &at) || at.Text != 140 {
		t.Errorf("a name that is not there: %v", err)
	}
	images[2].Data = images[2].Data[:100]
	for _, bad := range []string{"c#", "c#flip", "a#crop=1"} {
		many[140] = bad
		if _, err := refs.Encode(t.Context(), encoder.Query, encoder.Texts(many...), encoder.NeedDense); !errors.Is(err, picture.ErrImage) || !errors.As(err, &at) || at.Text != 140 {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
