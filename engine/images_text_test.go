package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// With an encoder that places texts beside images, as a CLIP does, a text finds the images it speaks of: by
// vectors, and by their titles; images find themselves by their visual words, whose states lie in another space.
func TestTextFindsImages(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), t.TempDir(), encoders.NewTowers(12, 24), Options{VisualWords: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var docs []Document
	for a := range encoders.Colours {
		for b := range encoders.Colours {
			file, err := encoders.Paint(a, b, b)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, Document{ID: a + " " + b, Title: "wall " + fmt.Sprint(len(docs)), Data: file})
		}
	}
	if r, err := e.Add(t.Context(), docs); err != nil || r.Added != len(docs) {
		t.Fatalf("%+v, %v", r, err)
	}
	if with, without := e.worded(t); with != len(docs) || without != 0 {
		t.Errorf("%d images with words, %d without", with, without)
	}
	for c := range encoders.Colours {
		for _, q := range []Query{{Text: c, K: 3}, {Text: c, K: 3, Mode: ModeDense}, {Text: c, K: 3, Mode: ModeDense, Variant: VariantNone}, {Text: c, K: 3, Mode: ModeHybrid}} {
			r, err := e.Search(t.Context(), q)
			if err != nil || r.Hits[0].ID != c+" "+c {
				t.Errorf("%s in mode %q: %+v, %v", c, q.Mode, r.Hits, err)
			}
		}
		if r, err := e.Search(t.Context(), Query{Image: docs[7].Data, K: 1}); err != nil || r.Hits[0].ID != docs[7].ID {
			t.Errorf("by itself: %+v, %v", r.Hits, err)
		}
	}
	if rs, err := e.SearchBatch(t.Context(), []Query{{Text: "red", K: 1}, {Image: docs[3].Data, K: 1}}); err != nil || rs[0].Hits[0].ID != "red red" || rs[1].Hits[0].ID != docs[3].ID {
		t.Errorf("a batch of both: %+v, %v", rs, err)
	}
	if x, err := e.Explain(t.Context(), Query{Text: "red"}, "red red"); err != nil || x.Attributed && len(x.Tokens) > 0 {
		t.Errorf("explained: %+v, %v", x, err)
	}
	if r, err := e.Search(t.Context(), Query{Text: "wall 3", Mode: ModeLexical, K: 1}); err != nil || len(r.Hits) == 0 || r.Hits[0].Title != "wall 3" {
		t.Errorf("by its title: %+v, %v", r.Hits, err)
	}
	if _, err := e.Add(t.Context(), []Document{{ID: "text", Text: "red"}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a text as a document: %v", err)
	}
	if _, err := e.Fit(t.Context(), FitOptions{Variant: "slr"}); err != nil {
		t.Errorf("a fit whose variant needs no states: %v", err)
	}
	if _, err := e.Fit(t.Context(), FitOptions{Variant: "llr"}); !errors.Is(err, encoder.ErrNoHidden) {
		t.Errorf("a fit on states that lie elsewhere: %v", err)
	}

	plain := album(t, t.TempDir(), Options{})
	if _, err := plain.Add(t.Context(), photos(t, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Search(t.Context(), Query{Text: "red"}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "give an image") {
		t.Errorf("a text, and no tower for it: %v", err)
	}
}

// breaking is an encoder that fails on one image once it is told to.
type breaking struct {
	encoder.Encoder
	image string
	on    atomic.Bool
}

func (b *breaking) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	for i := range in {
		if b.on.Load() && string(in[i].Data) == b.image {
			return nil, encoder.ErrUnavailable
		}
	}
	return b.Encoder.Encode(ctx, role, in, need)
}

// Images that a process left without words, which ended behind the commit of the codebook, get them when the
// database is opened again and stores something.
func TestImagesLeftWithoutWords(t *testing.T) {
	t.Parallel()
	dir, docs := t.TempDir(), photos(t, 22)
	enc := &breaking{Encoder: encoders.NewPixels(24), image: string(docs[3].Data)}
	e, err := Open(t.Context(), dir, enc, Options{VisualWords: 64})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Add(t.Context(), docs[:5]); err != nil {
		t.Fatal(err)
	}
	enc.on.Store(true)
	if _, err := e.Add(t.Context(), docs[5:21]); err != nil {
		t.Fatal(err)
	}
	if with, without := e.worded(t); with != 16 || without != 5 {
		t.Fatalf("%d images with words, %d without: the test shows nothing", with, without)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = album(t, dir, Options{})
	if _, err := e.Add(t.Context(), docs[21:]); err != nil {
		t.Fatal(err)
	}
	if with, without := e.worded(t); with != 22 || without != 0 {
		t.Errorf("%d images with words, %d without", with, without)
	}
}
