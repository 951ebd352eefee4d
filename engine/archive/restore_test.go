package archive

import (
	"encoding/json"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/store"
)

// The vocabulary of a later part has that of the part before.
func TestAcceptedVocabularies(t *testing.T) {
	type part struct{ vocab, terms int }
	for _, c := range []struct {
		parts []part
		good  bool
	}{
		{[]part{{0, 0}, {0, 3}, {0, 3}, {0, 9}}, true},
		{[]part{{7, 0}, {7, 0}}, true},
		{[]part{{0, 3}, {0, 2}}, false},
		{[]part{{7, 0}, {6, 0}}, false},
		{[]part{{7, 0}, {0, 0}}, false},
		{[]part{{7, 0}, {0, 9}}, false},
		{[]part{{0, 3}, {7, 0}}, false},
		{[]part{{7, 3}}, false},
		{[]part{{-1, 0}}, false},
	} {
		accept := acceptor()
		var err error
		for i, p := range c.parts {
			if err != nil {
				t.Errorf("%+v: part %d: %v", c.parts, i, err)
			}
			raw, merr := json.Marshal(encoder.Fingerprint{Dim: 4, VocabSize: p.vocab})
			if merr != nil {
				t.Fatal(merr)
			}
			_, err = accept(&store.Manifest{Dim: 4, Encoder: raw}, p.terms, 0)
		}
		if (err == nil) != c.good {
			t.Errorf("%+v: %v", c.parts, err)
		}
	}
}
