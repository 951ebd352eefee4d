package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/visual"
)

// album is n images as a corpus, an encoder of references to them, and their sums.
func album(t *testing.T, n int) (*list, encoder.Encoder, *ridge.Sums) {
	t.Helper()
	const dim, words = 24, 64
	images := encoders.Images(t, n)
	w, err := visual.New(encoders.NewPixels(dim), words)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Encode(t.Context(), encoder.Passage, images, encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	var states []float32
	for _, o := range out {
		states = append(states, o.Hidden...)
	}
	b, err := visual.FitCodebook(t.Context(), states, dim, words, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Set(b); err != nil {
		t.Fatal(err)
	}
	enc := visual.NewReferences(w, func(_ context.Context, name string) (in encoder.Input, err error) {
		var i int
		if _, err := fmt.Sscanf(name, "image %d", &i); err != nil {
			return in, err
		}
		return images[i], nil
	})
	texts := make([]string, n)
	for i := range texts {
		texts[i] = visual.Reference(fmt.Sprint("image ", i), picture.View{})
	}
	if out, err = enc.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense); err != nil {
		t.Fatal(err)
	}
	l := &list{texts: texts}
	for _, o := range out {
		l.vectors = append(l.vectors, o.Dense)
	}
	sums, err := ridge.SumsOf(t.Context(), dim, words, n, l.Vector, func(i int) ([]int32, error) { return out[i].Tokens.Lexical(nil), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l, enc, sums
}

// A fit to images draws parts of them, teaches with those, and finds held-out crops no worse than the
// plain vectors do; it is the same whatever the workers.
func TestFitImages(t *testing.T) {
	l, enc, sums := album(t, 60)
	for _, stack := range []string{"slr", "rlr+slr", "llr"} {
		o := Options{Stack: stack, Sums: sums, QueriesPerPassage: 4, Workers: 1, Seed: 5}
		w, rep, err := Fit(t.Context(), l, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Queries != 4*60 || rep.Losses[len(rep.Losses)-1] >= rep.Losses[0] && len(rep.Losses) > 1 || rep.Tokens == 0 {
			t.Errorf("%s: %+v", stack, rep)
		}
		var tasks []string
		for _, p := range w.Probes {
			tasks = append(tasks, p.Task)
			if p.Queries != 60 || p.Task == Crop.Name && p.Modified < p.Dense {
				t.Errorf("%s: %+v", stack, p)
			}
		}
		if !slices.Equal(tasks, []string{"crop", "hidden"}) {
			t.Errorf("%s was measured on %q", stack, tasks)
		}
		o.Workers = 3
		again, _, err := Fit(t.Context(), l, enc, o)
		if err != nil || !slices.Equal(again.Projection.Rows(), w.Projection.Rows()) {
			t.Errorf("%s: three workers fit another bridge, %v", stack, err)
		}
	}
}

func TestFitImagesRefused(t *testing.T) {
	l, enc, sums := album(t, 8)
	if _, _, err := Fit(t.Context(), l, enc, Options{Sums: sums, Reserve: true}); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("reserved parts: %v", err)
	}
	if _, _, err := Fit(t.Context(), l, enc, Options{}); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "Sums") {
		t.Errorf("without sums: %v", err)
	}
	if _, _, err := Draw(t.Context(), l, Options{Media: "audio/"}); !errors.Is(err, ErrOptions) {
		t.Errorf("another modality: %v", err)
	}
}

// Parts lie in the image, leave something of it, and are as the sampler's documentation says.
func TestImageSamplers(t *testing.T) {
	p := &Passage{Text: "a#b#", media: encoder.MediaImages}
	for _, s := range samplersOf(p.media, false) {
		flipped := 0
		for seed := range uint64(400) {
			q := s.Draw(random(seed, "t", ""), p)
			if q != s.Draw(random(seed, "t", ""), p) {
				t.Fatalf("%s: two draws of one seed differ", s.Name)
			}
			part, ok := strings.CutPrefix(q, "a#b#")
			v, err := picture.ParseView(part)
			if !ok || err != nil {
				t.Fatalf("%s: %q, %v", s.Name, q, err)
			}
			if v.Flip {
				flipped++
			}
			hidden := strings.Count(fmt.Sprintf("%064b", v.Hide), "1")
			if area := v.W * v.H; s.Name == Crop.Name && (area < 160_000 || area > 672_400) || s.Name == Hidden.Name && (hidden < 21 || hidden > 42) {
				t.Errorf("%s: an area of %d, %d cells hidden", s.Name, area, hidden)
			}
		}
		if flipped < 150 || flipped > 250 {
			t.Errorf("%s: %d of 400 are mirror images", s.Name, flipped)
		}
	}
}
