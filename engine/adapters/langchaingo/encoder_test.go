package lexsem_test

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/langchaingo"
)

func TestEncoder(t *testing.T) {
	encodertest.Run(t, func(*testing.T) encoder.Encoder { return lexsem.Encoder("letters", 32, &letters{}) })
}

// TestEncoderInDatabase: passages are asked for as documents and queries as queries.
func TestEncoderInDatabase(t *testing.T) {
	e := &letters{}
	s := lexsem.New(open(t, lexsem.Encoder("letters", 32, e), engine.Options{}))
	add(t, s, desks)
	before := e.documents
	if before < len(desks) {
		t.Errorf("the embedder was asked for %d documents", before)
	}
	if docs := search(t, s, "whale of the sea", 1); docs[0].PageContent != desks[3].PageContent {
		t.Errorf("found %v", docs)
	}
	if e.queries != 1 || e.documents != before {
		t.Errorf("a search asked for %d queries and %d documents", e.queries, e.documents-before)
	}
	down := errors.New("it is down")
	e.err = down
	if _, err := s.SimilaritySearch(t.Context(), "whale", 1); !errors.Is(err, down) {
		t.Errorf("while the embedder is down: %v", err)
	}
	if _, err := engine.Open(t.Context(), t.TempDir(), lexsem.Encoder("letters", 32, nil), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := lexsem.Encoder("letters", 32, nil).Encode(t.Context(), encoder.Query, encoder.Texts("x"), encoder.NeedDense); !errors.Is(err, encoder.ErrContract) {
		t.Errorf("no embedder: %v", err)
	}
}
