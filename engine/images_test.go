package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// album opens a database of images with 64 visual words: 16 images of 64 patches make a codebook.
func album(t *testing.T, dir string, o Options) *Engine {
	t.Helper()
	o.VisualWords = 64
	e, err := Open(t.Context(), dir, encoders.NewPixels(24), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func photos(t *testing.T, n int) []Document {
	t.Helper()
	docs := make([]Document, n)
	for i, in := range encoders.Images(t, n) {
		docs[i] = Document{ID: fmt.Sprintf("photo %02d", i), Title: fmt.Sprintf("holiday number%d", i), Data: in.Data, Metadata: map[string]any{"n": i}}
	}
	return docs
}

// worded counts the images with words, and those without.
func (e *Engine) worded(t *testing.T) (with, without int) {
	t.Helper()
	for ord := range e.db.Present().Live.All {
		d, err := e.st.Get(t.Context(), ord)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Rows[0].Tokens) > 0 && len(strings.Fields(d.Text)) == 64 {
			with++
		} else {
			without++
		}
	}
	return with, without
}

// Images find themselves among the first in every mode, by their words too, and those that came before the codebook get
// theirs behind the call that made it; all of it after opening again.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := album(t, dir, Options{})
	docs := photos(t, 40)
	add := func(docs []Document) {
		t.Helper()
		if r, err := e.Add(t.Context(), docs); err != nil || r.Added != len(docs) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	add(docs[:5])
	if with, without := e.worded(t); with != 0 || without != 5 {
		t.Errorf("%d images with words, %d without, and there is no codebook", with, without)
	}
	find := func(when string, modes ...string) {
		t.Helper()
		for _, mode := range modes {
			for i, d := range docs[:min(len(docs), e.st.Len())] {
				if i >= 5 && i < 20 {
					continue
				}
				r, err := e.Search(t.Context(), Query{Image: d.Data, Mode: mode, K: 10})
				if err != nil || !slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.ID == d.ID && h.Media == picture.MediaBMP }) {
					t.Fatalf("%s, mode %s: %s is not among the first, %v", when, mode, d.ID, err)
				}
				if r, err = e.Search(t.Context(), Query{Image: d.Data, Mode: ModeDense, Variant: VariantNone, K: 1}); err != nil || r.Hits[0].ID != d.ID {
					t.Fatalf("%s: the plain vector of %s finds others, %v", when, d.ID, err)
				}
			}
		}
	}
	find("without words", ModeDense, ModeAuto)
	add(docs[5:20])
	if with, without := e.worded(t); with != 20 || without != 0 {
		t.Errorf("%d images with words, %d without", with, without)
	}
	add(docs[20:])
	find("with words", ModeDense, ModeAuto, ModeHybrid, ModeLexical)
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Search(t.Context(), Query{Text: "number7", Mode: ModeLexical}); err != nil || len(r.Hits) == 0 || r.Hits[0].ID != docs[7].ID {
		t.Errorf("by its title: %+v, %v", r.Hits, err)
	}
	got, err := e.Get(t.Context(), docs[3].ID)
	if err != nil || !bytes.Equal(got.Data, docs[3].Data) || got.Media != picture.MediaBMP || got.Text != "" || len(got.Vector) != 24 {
		t.Errorf("%d bytes of %s, text %q, %v", len(got.Data), got.Media, got.Text, err)
	}
	if r, err := e.Upsert(t.Context(), docs); err != nil || r.Unchanged != len(docs) {
		t.Errorf("the same images again: %+v, %v", r, err)
	}
	other := docs[9]
	other.Data = docs[30].Data
	if r, err := e.Upsert(t.Context(), []Document{other}); err != nil || r.Replaced != 1 {
		t.Errorf("another image: %+v, %v", r, err)
	}
	x, err := e.Explain(t.Context(), Query{Image: docs[0].Data}, docs[0].ID)
	if err != nil || !x.Attributed || len(x.Tokens) == 0 || !strings.HasPrefix(x.Tokens[0].Token, "v0") || len(x.Words) == 0 || len(x.Matches) == 0 {
		t.Errorf("attributed %t, %d tokens, %d words, %d matches, %v", x.Attributed, len(x.Tokens), len(x.Words), len(x.Matches), err)
	}
	if rs, err := e.SearchBatch(t.Context(), []Query{{Image: docs[1].Data}, {Image: docs[22].Data, Mode: ModeLexical}}); err != nil || rs[0].Hits[0].ID != docs[1].ID || rs[1].Hits[0].ID != docs[22].ID {
		t.Errorf("a batch: %v", err)
	}
	if v, _, err := e.Vector(t.Context(), Query{Image: docs[1].Data, Variant: VariantNone}); err != nil || len(v) != 24 {
		t.Errorf("a vector: %d, %v", len(v), err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = album(t, dir, Options{})
	find("opened again", ModeDense, ModeHybrid, ModeLexical)
	if rep, err := e.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	add([]Document{{ID: "later", Data: docs[0].Data[:], Title: "later"}})
	if with, without := e.worded(t); with != 41 || without != 0 {
		t.Errorf("%d images with words, %d without", with, without)
	}
}

// A whole export is the database again, words and all; one without vectors is encoded again.
func TestImagesExported(t *testing.T) {
	t.Parallel()
	e := album(t, t.TempDir(), Options{})
	docs := photos(t, 24)
	if _, err := e.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	for _, vectors := range []bool{true, false} {
		var b bytes.Buffer
		if _, err := e.Export(t.Context(), &b, archive.ExportOptions{Vectors: vectors}); err != nil {
			t.Fatal(err)
		}
		x, err := archive.NewExported(&b)
		if err != nil {
			t.Fatal(err)
		}
		other := album(t, t.TempDir(), Options{})
		if r, err := other.Import(t.Context(), x); err != nil || r.Added != 24 {
			t.Fatalf("vectors %t: %+v, %v", vectors, r, err)
		}
		if with, _ := other.worded(t); with != 24 {
			t.Errorf("vectors %t: %d images with words", vectors, with)
		}
		for _, d := range docs[20:] {
			r, err := other.Search(t.Context(), Query{Image: d.Data, Mode: ModeLexical, K: 1})
			got, errGet := other.Get(t.Context(), d.ID)
			if err = errors.Join(err, errGet); err != nil || r.Hits[0].ID != d.ID || !bytes.Equal(got.Data, d.Data) {
				t.Errorf("vectors %t: %s: %v", vectors, d.ID, err)
			}
		}
	}
	// Words of another codebook have the same numbers and mean other things.
	first := album(t, t.TempDir(), Options{})
	more := photos(t, 40)[16:]
	for i := range more {
		more[i].ID = "other " + more[i].ID
	}
	if _, err := first.Add(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := e.Export(t.Context(), &b, archive.ExportOptions{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	x, err := archive.NewExported(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Import(t.Context(), x); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "codebook") {
		t.Errorf("another codebook: %v", err)
	}
}

// Backups keep images, and a change of model encodes them again.
func TestImagesMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := album(t, dir, Options{})
	docs := photos(t, 20)
	if _, err := e.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	var backup bytes.Buffer
	if _, err := e.BackupTo(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Restore(t.Context(), restored, &backup, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, restored} {
		e := album(t, d, Options{})
		for _, doc := range docs[:4] {
			if r, err := e.Search(t.Context(), Query{Image: doc.Data, Mode: ModeLexical, K: 1}); err != nil || r.Hits[0].ID != doc.ID {
				t.Errorf("%s: %v", doc.ID, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Reembed(t.Context(), dir, encoders.NewPixels(32), Options{}); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), dir, encoders.NewPixels(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if r, err := e.Search(t.Context(), Query{Image: docs[5].Data}); err != nil || r.Hits[0].ID != docs[5].ID {
		t.Errorf("with another model: %v", err)
	}
}

// A fit draws parts of the stored images, and its bridge serves.
func TestImagesFitted(t *testing.T) {
	t.Parallel()
	e := album(t, t.TempDir(), Options{})
	docs := photos(t, 40)
	if _, err := e.Add(t.Context(), docs[:8]); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Fit(t.Context(), FitOptions{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "too few images") {
		t.Errorf("a fit without words: %v", err)
	}
	if _, err := e.Add(t.Context(), docs[8:]); err != nil {
		t.Fatal(err)
	}
	r, err := e.Fit(t.Context(), FitOptions{QueriesPerPassage: 3})
	if err != nil || r.Queries != 120 || len(r.Probes) != 2 || r.Probes[0].Task != "crop" || len(r.Choice) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	found, err := e.Search(t.Context(), Query{Image: docs[2].Data, Variant: "rlr+slr", Mode: ModeDense})
	if err != nil || found.Hits[0].ID != docs[2].ID || found.Trace.Variant != "rlr+slr" {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestImagesRefused(t *testing.T) {
	t.Parallel()
	e := album(t, t.TempDir(), Options{})
	image := encoders.Images(t, 1)[0].Data
	texts, err := Open(t.Context(), t.TempDir(), encoder.NewHash(24), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer texts.Close()
	for _, c := range []struct {
		name string
		e    *Engine
		d    Document
		want error
		says string
	}{
		{"a text", e, Document{ID: "a", Text: "text"}, ErrInvalid, "holds images"},
		{"an image and a text", e, Document{ID: "a", Data: image, Text: "text"}, ErrInvalid, "caption into Title"},
		{"another type", e, Document{ID: "a", Data: image, Media: "image/png"}, ErrInvalid, "leave Media empty"},
		{"no image", e, Document{ID: "a", Data: []byte("%PDF")}, picture.ErrImage, "no format"},
		{"a type alone", e, Document{ID: "a", Media: "image/png"}, picture.ErrImage, ""},
		{"a cut image", e, Document{ID: "a", Data: image[:300]}, picture.ErrImage, "ends early"},
		{"a large file", e, Document{ID: "a", Data: append(slices.Clone(image), make([]byte, MaxImageBytes)...)}, ErrInvalid, "store it smaller"},
		{"an image among texts", texts, Document{ID: "a", Data: image}, ErrInvalid, "database of texts"},
	} {
		_, err := c.e.Add(t.Context(), []Document{{ID: "fine", Data: image, Title: "t", Vector: make24()}, c.d})
		var at *DocumentError
		if !errors.Is(err, c.want) || !errors.As(err, &at) || at.ID != "a" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want one that says %q", c.name, err, c.says)
		}
	}
	for name, c := range map[string]struct {
		e    *Engine
		q    Query
		want error
	}{
		"image and text":       {e, Query{Image: image, Text: "x"}, ErrInvalid},
		"image and vector":     {e, Query{Image: image, Vector: make24()}, ErrInvalid},
		"no image":             {e, Query{Image: []byte("x")}, ErrInvalid},
		"a cut image":          {e, Query{Image: image[:300]}, ErrInvalid},
		"an image among texts": {texts, Query{Image: image}, ErrInvalid},
		"a text among images":  {e, Query{Text: "a ship"}, encoder.ErrMedia},
	} {
		if _, err := c.e.Search(t.Context(), c.q); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), t.TempDir(), encoders.NewPixels(24), Options{VisualWords: 3}); !errors.Is(err, ErrInvalid) {
		t.Errorf("three words: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Search(ctx, Query{Image: image}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func make24() []float32 {
	v := make([]float32, 24)
	v[0] = 1
	return v
}

// stubborn is an encoder that gives no states of five images alone while it is told so.
type stubborn struct {
	encoder.Encoder
	refuse atomic.Bool
}

func (s *stubborn) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if s.refuse.Load() && len(in) == 5 && need == encoder.NeedHidden {
		return nil, errors.New("not now")
	}
	return s.Encoder.Encode(ctx, role, in, need)
}

// Images that could not get their words behind one call get them behind the next, and neither call fails.
func TestImagesWait(t *testing.T) {
	t.Parallel()
	enc := &stubborn{Encoder: encoders.NewPixels(24)}
	e, err := Open(t.Context(), t.TempDir(), enc, Options{VisualWords: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	docs := photos(t, 26)
	enc.refuse.Store(true)
	for _, c := range []struct{ from, to, without int }{{0, 5, 5}, {5, 25, 5}, {25, 26, 0}} {
		if c.without == 0 {
			enc.refuse.Store(false)
		}
		if _, err := e.Add(t.Context(), docs[c.from:c.to]); err != nil {
			t.Fatal(err)
		}
		if _, without := e.worded(t); without != c.without {
			t.Errorf("after image %d: %d without words, want %d", c.to, without, c.without)
		}
	}
}
