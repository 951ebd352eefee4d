package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// own are documents with vectors of the caller's.
func own(t *testing.T, lo, hi int) []engine.Document {
	t.Helper()
	d := docs(lo, hi)
	for i := range d {
		out, err := encoder.NewHash(dim).Encode(t.Context(), encoder.Passage, encoder.Texts(d[i].Text), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		d[i].Vector = out[0].Dense
	}
	return d
}

func TestVectorsOnly(t *testing.T) {
	dir := t.TempDir()
	e := openWith(t, dir, nil, engine.Options{Dim: dim})
	d := own(t, 0, 30)
	add(t, e, d)

	_, err := e.Add(t.Context(), []engine.Document{{ID: "forgot", Text: "a text"}})
	var refused *engine.DocumentError
	if !errors.As(err, &refused) || refused.ID != "forgot" || !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "give Vector with 64 numbers") {
		t.Errorf("a document without a vector: %v", err)
	}
	for _, mode := range []string{"", engine.ModeDense, engine.ModeHybrid} {
		_, err := e.Search(t.Context(), engine.Query{Text: "some words", Mode: mode})
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), `"some words"`) || !strings.Contains(err.Error(), "Vector") || !strings.Contains(err.Error(), "mode lexical") {
			t.Errorf("mode %q without a vector: %v", mode, err)
		}
	}
	for reopened := range 2 {
		for _, q := range []engine.Query{
			{Text: text(4), Mode: engine.ModeLexical},
			{Vector: d[4].Vector},
			{Vector: d[4].Vector, Text: text(4)},
			{Vector: d[4].Vector, Text: text(4), Mode: engine.ModeDense},
		} {
			if r := search(t, e, q); r.Hits[0].ID != "d4" {
				t.Errorf("reopened %d, %+v: %v", reopened, q, ids(r))
			}
		}
		if _, err := e.Explain(t.Context(), engine.Query{Vector: d[4].Vector, Text: text(4)}, "d4"); err != nil {
			t.Error(err)
		}
		if _, err := e.Fit(t.Context(), engine.FitOptions{}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "rlr") {
			t.Errorf("fit: %v", err)
		}
		if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 {
			t.Errorf("verify: %v, %v", r.Problems, err)
		}
		if s, err := e.Stats(t.Context()); err != nil || s.Dim != dim || s.Encoder.Model != "" {
			t.Errorf("%+v, %v", s, err)
		}
		closeIt(t, e)
		e = openWith(t, dir, nil, engine.Options{Dim: dim * reopened}) // 0 means the database's
	}
	closeIt(t, e)

	for name, open := range map[string]func() (*engine.Engine, error){
		"with an encoder":         func() (*engine.Engine, error) { return engine.Open(t.Context(), dir, hash(t), engine.Options{}) },
		"with another dimension":  func() (*engine.Engine, error) { return engine.Open(t.Context(), dir, nil, engine.Options{Dim: 3}) },
		"an impossible dimension": func() (*engine.Engine, error) { return engine.Open(t.Context(), dir, nil, engine.Options{Dim: -3}) },
		"two dimensions": func() (*engine.Engine, error) {
			return engine.Open(t.Context(), t.TempDir(), hash(t), engine.Options{Dim: 3})
		},
	} {
		want := engine.ErrInvalid
		if name == "with an encoder" {
			want = encoder.ErrMismatch
		}
		if e, err := open(); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
			if e != nil {
				closeIt(t, e)
			}
		}
	}
	if _, err := engine.Open(t.Context(), t.TempDir(), nil, engine.Options{}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("neither a dimension nor an encoder: %v", err)
	}
}
