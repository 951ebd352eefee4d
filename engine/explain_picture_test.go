package engine

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

func TestPatchWeights(t *testing.T) {
	// Words v0001 v0002 in the first row, v0001 v0003 in the second.
	x := Explanation{
		Words:   []explain.Word{{Term: "v0001", Count: 2, BM25: 4}, {Term: "v0003", Count: 1, BM25: 1}, {Term: "v0009"}},
		Matches: []explain.Match{{Field: "text", Start: 0, Term: "v0001"}, {Field: "text", Start: 12, Term: "v0001"}, {Field: "text", Start: 18, Term: "v0003"}, {Field: "title", Start: 6, Term: "v0001"}, {Field: "text", Start: 24, Term: "v0001"}},
	}
	if w := patchWeights(x, 4); len(w) != 4 || w[0] != 2 || w[1] != 0 || w[2] != 2 || w[3] != 1 {
		t.Errorf("weights %v", w)
	}
	if w := patchWeights(Explanation{Words: x.Words}, 4); w != nil {
		t.Errorf("nothing gave anything: %v", w)
	}
}

// The picture shows the query, and the image that was found with the patches light whose words gave something; to a
// text that image alone.
func TestExplanationIsDrawn(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), t.TempDir(), encoders.NewTowers(12, 24), Options{VisualWords: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var docs []Document
	for a := range encoders.Colours {
		for b := range encoders.Colours {
			file, err := encoders.Paint(a, b)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, Document{ID: a + " " + b, Data: file})
		}
	}
	if _, err := e.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	white, err := encoders.Paint("white")
	if err != nil {
		t.Fatal(err)
	}
	draw := func(q Query) image.Image {
		t.Helper()
		q.Picture = true
		x, err := e.Explain(t.Context(), q, "white black")
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(x.Picture))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	light := func(m image.Image, x int) uint32 { r, _, _, _ := m.At(x, 224).RGBA(); return r >> 8 }
	m := draw(Query{Image: white})
	if b := m.Bounds(); b.Dx() != 448+8+448 || b.Dy() != 448 {
		t.Fatal(b)
	}
	if query, left, right := light(m, 20), light(m, 456+20), light(m, 456+430); query != 250 || left != 250 || right != 1 {
		t.Errorf("light %d, %d beside %d", query, left, right)
	}
	m = draw(Query{Text: "white"})
	if b, left, right := m.Bounds(), light(m, 20), light(m, 430); b.Dx() != 448 || left != 250 || right != 5 {
		t.Errorf("%v, light %d and %d", b, left, right)
	}
	if x, err := e.Explain(t.Context(), Query{Image: white}, "white black"); err != nil || x.Picture != nil {
		t.Errorf("drawn unasked, %v", err)
	}

	texts, err := Open(t.Context(), t.TempDir(), encoder.NewHash(16), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer texts.Close()
	if _, err := texts.Add(t.Context(), []Document{{ID: "a", Text: "a ship"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := texts.Explain(t.Context(), Query{Text: "ship", Picture: true}, "a"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a picture of a text: %v", err)
	}
}
