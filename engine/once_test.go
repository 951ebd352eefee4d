package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/vec"
)

// TestEqualTextsAreEncodedOnce: documents with equal texts get equal vectors and token states from one encoding, and an
// error names the first of them.
func TestEqualTextsAreEncodedOnce(t *testing.T) {
	hash := encoder.NewHash(32)
	var asked []string
	refused := ""
	enc := counted{hash, func(in []encoder.Input) error {
		for i, x := range in {
			if x.Text == refused {
				return &encoder.TextError{Text: i, Err: errors.New("refused")}
			}
			asked = append(asked, x.Text)
		}
		return nil
	}}
	e, err := engine.Open(t.Context(), t.TempDir(), enc, small)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	same := []engine.Document{{ID: "a", Text: "one licence"}, {ID: "b", Text: "another text"}, {ID: "c", Text: "one licence"}, {ID: "d", Text: "one licence"}, {ID: "e", Text: "the last"}}
	if _, err := e.Add(t.Context(), same); err != nil {
		t.Fatal(err)
	}
	for _, d := range same {
		if i := slices.Index(asked, d.Text); i < 0 || slices.Contains(asked[i+1:], d.Text) {
			t.Errorf("%q was not encoded once", d.Text)
		}
	}
	vectors := map[string][]float32{}
	for r, err := range e.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		vectors[r.ID] = r.Rows[0].Vector
	}
	for _, d := range same {
		out, err := hash.Encode(t.Context(), encoder.Passage, encoder.Texts(d.Text), encoder.NeedDense)
		if err != nil || vec.Dot(vectors[d.ID], out[0].Dense) < 0.999 { // stored with fewer bits
			t.Errorf("the vector of %s is not that of %q: %v", d.ID, d.Text, err)
		}
	}
	refused = "bad"
	var one *engine.DocumentError
	_, err = e.Add(t.Context(), []engine.Document{{ID: "f", Text: "fine"}, {ID: "g", Text: "fine"}, {ID: "h", Text: "bad"}, {ID: "i", Text: "bad"}})
	if !errors.As(err, &one) || one.ID != "h" {
		t.Errorf("%v, want the document h named", err)
	}
}

// counted shows what an encoder is asked for.
type counted struct {
	encoder.Encoder
	see func(in []encoder.Input) error
}

func (c counted) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if err := c.see(in); err != nil {
		return nil, err
	}
	return c.Encoder.Encode(ctx, role, in, need)
}
