package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// TestNote: the note follows the documents, and says what of model and stems does not fit.
func TestNote(t *testing.T) {
	const ru, de, en = "Поезд опоздал на сорок минут из-за снега.", "Der Teig muss zwei Stunden ruhen, bevor er in den Ofen kommt.", "The bridge was closed after they found cracks in it."
	for _, c := range []struct {
		model, language string
		texts           []string
		want            string
	}{
		{"all-MiniLM-L6-v2", "", []string{ru, ru, en}, "most text is Russian; all-MiniLM-L6-v2 reads English: words carry the search; `lexsem reembed --model multilingual-e5-small-q4` changes the model"},
		{"all-MiniLM-L6-v2", "", []string{ru, ru, en, en}, ""},
		{"all-MiniLM-L6-v2", "", []string{en, en, ru}, ""},
		{"all-MiniLM-L6-v2", "de", []string{de}, "most text is German; all-MiniLM-L6-v2 reads English: words carry the search; `lexsem reembed --model multilingual-e5-small-q4` changes the model"},
		{"all-MiniLM-L6-v2", "de", []string{en}, ""},
		{"multilingual-e5-small-q4", "bg", []string{ru}, "most text is Russian; its words have the stems of bg; a new database with `--language ru` has its own"},
		{"multilingual-e5-small-q4", "", []string{ru}, ""},
		{"multilingual-e5-small-q4", "", []string{de}, ""},
		{"multilingual-e5-small-q4", "none", []string{de}, ""},
		{"mine", "", []string{ru, "xyzzy", "12"}, ""},
	} {
		enc := encoder.Func(c.model, 8, func(ctx context.Context, texts []string) ([][]float32, error) {
			out := make([][]float32, len(texts))
			for i, s := range texts {
				out[i] = make([]float32, 8)
				out[i][len(s)%8] = 1
			}
			return out, nil
		})
		e, err := engine.Open(t.Context(), t.TempDir(), enc, sparing(engine.Options{Language: c.language}))
		if err != nil {
			t.Fatal(err)
		}
		docs := make([]engine.Document, len(c.texts))
		for i, s := range c.texts {
			docs[i] = engine.Document{ID: fmt.Sprint(i), Text: s}
		}
		add(t, e, docs)
		if got := noteOf(t, e); got != c.want {
			t.Errorf("%s %s %q:\n got %q\nwant %q", c.model, c.language, c.texts, got, c.want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreadQuery: half of a query in a language that the model does not read counts as unknown.
func TestUnreadQuery(t *testing.T) {
	for model, want := range map[string]float64{"all-MiniLM-L6-v2": .5, "multilingual-e5-small-q4": 0, "mine": 0} {
		e, err := engine.Open(t.Context(), t.TempDir(), encoder.Func(model, 8, func(ctx context.Context, texts []string) ([][]float32, error) {
			return slices.Repeat([][]float32{{1, 0, 0, 0, 0, 0, 0, 0}}, len(texts)), nil
		}), sparing(engine.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		add(t, e, docs(0, 3))
		for query, want := range map[string]float64{"Wer hat die Brücke über den Fluss gebaut?": want, "Who has built the bridge across the river?": 0} {
			if r := search(t, e, engine.Query{Text: query, Mode: engine.ModeHybrid}); r.Trace.Unknown != want {
				t.Errorf("%s, %q: %v is unknown, want %v", model, query, r.Trace.Unknown, want)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoteFollows: it is made anew after a commit, and of a large database by a sample over all of it.
func TestNoteFollows(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{Language: "bg"})
	if got := noteOf(t, e); got != "" {
		t.Errorf("an empty database: %q", got)
	}
	var docs []engine.Document
	for i := range 500 {
		text := "Поезд опоздал на сорок минут из-за снега."
		if i < 200 { // the first ones alone would mislead
			text = "The bridge was closed after they found cracks in it."
		}
		docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: text})
	}
	add(t, e, docs)
	if got := noteOf(t, e); !strings.HasPrefix(got, "most text is Russian; ") {
		t.Errorf("three of five documents: %q", got)
	}
	var gone []string
	for _, d := range docs[200:] {
		gone = append(gone, d.ID)
	}
	if _, err := e.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if got := noteOf(t, e); got != "" {
		t.Errorf("after the German ones went: %q", got)
	}
}

func noteOf(t *testing.T, e *engine.Engine) string {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Note
}
