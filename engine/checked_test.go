package engine_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// broken is an encoder whose answers spoil changes.
type broken struct {
	encoder.Encoder
	spoil *func([]encoder.Output) []encoder.Output
}

func (b broken) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := b.Encoder.Encode(ctx, role, in, need)
	if err == nil && *b.spoil != nil {
		out = (*b.spoil)(out)
	}
	return out, err
}

// TestBrokenEncoder: whatever an encoder of the user's own answers, nothing
// panics, nothing broken is stored, and the database goes on.
func TestBrokenEncoder(t *testing.T) {
	var spoil func([]encoder.Output) []encoder.Output
	dir, enc := t.TempDir(), broken{encoder.NewHash(32), &spoil}
	e, err := engine.Open(t.Context(), dir, enc, small)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	add(t, e, docs(0, 20))
	for name, f := range map[string]func([]encoder.Output) []encoder.Output{
		"fewer":     func(o []encoder.Output) []encoder.Output { return o[:len(o)-1] },
		"zero":      func(o []encoder.Output) []encoder.Output { clear(o[len(o)-1].Dense); return o },
		"NaN":       func(o []encoder.Output) []encoder.Output { o[0].Dense[3] = float32(math.NaN()); return o },
		"short":     func(o []encoder.Output) []encoder.Output { o[0].Dense = o[0].Dense[:5]; return o },
		"no vector": func(o []encoder.Output) []encoder.Output { o[0].Dense = nil; return o },
		"token":     func(o []encoder.Output) []encoder.Output { o[0].Tokens.IDs[1] = math.MaxInt32; return o },
		"panic":     func([]encoder.Output) []encoder.Output { panic("bang") },
	} {
		spoil = f
		two := []engine.Document{{ID: "x", Text: "one text"}, {ID: "y", Text: "another text"}}
		_, err := e.Add(t.Context(), two)
		var refused *engine.DocumentError
		if !errors.Is(err, engine.ErrEncoder) || name != "fewer" && name != "panic" && !errors.As(err, &refused) {
			t.Errorf("%s: Add: %v", name, err)
		}
		if name == "zero" && refused != nil && refused.ID != "y" {
			t.Errorf("%s: Add names document %q", name, refused.ID)
		}
		if _, err := e.Search(t.Context(), engine.Query{Text: "words"}); !errors.Is(err, engine.ErrEncoder) {
			t.Errorf("%s: Search: %v", name, err)
		}
		if _, err := e.Fit(t.Context(), engine.FitOptions{QueriesPerPassage: 1, Epochs: 1}); err == nil {
			t.Errorf("%s: Fit succeeded", name)
		}
		spoil = nil
		if r, err := e.Search(t.Context(), engine.Query{Text: "words"}); err != nil || len(r.Hits) == 0 {
			t.Errorf("%s: the search after it: %v", name, err)
		}
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Documents != 20 {
		t.Errorf("%d documents, %v; want the 20 that were sound", s.Documents, err)
	}
}

// bursting is an encoder whose tokenizer panics while on is true.
type bursting struct {
	encoder.Encoder
	on *bool
}

func (b bursting) Tokenize(role encoder.Role, text string) encoder.Tokens {
	if *b.on {
		panic("bang")
	}
	return b.Encoder.Tokenize(role, text)
}

// TestPanickingTokenizer: a tokenizer that panics fails the call, of short texts and of those that are cut in a
// goroutine of their own.
func TestPanickingTokenizer(t *testing.T) {
	on := false
	e, err := engine.Open(t.Context(), t.TempDir(), bursting{encoder.NewHash(32), &on}, small)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, text := range map[string]string{"short": "a sentence", "long": strings.Repeat("Words of a sentence. ", 5000)} {
		on = true
		_, err := e.Add(t.Context(), []engine.Document{{ID: name, Text: text}})
		if !errors.Is(err, engine.ErrEncoder) || !strings.Contains(err.Error(), "panic at checked_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
		on = false
		if _, err := e.Add(t.Context(), []engine.Document{{ID: name, Text: text}}); err != nil {
			t.Errorf("%s, the same call again: %v", name, err)
		}
	}
}
