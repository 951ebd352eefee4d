package engine

import (
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestVariantIsResolvedOnce: a query that names no variant is modulated by the
// one it was encoded for, though a fit chooses another in between.
func TestVariantIsResolvedOnce(t *testing.T) {
	e, err := Open(t.Context(), t.TempDir(), encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Add(t.Context(), []Document{{ID: "a", Text: "first words"}, {ID: "b", Text: "second words"}}); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]string{ModeDense: VariantLocal, ModeHybrid: "rlr"} {
		e.auto = ""
		s, err := e.prepare(t.Context(), Query{Text: "words", Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		e.auto = "rlr+slr" // reads more of the encoder than the query has asked it for
		if err := s.begin(); err != nil || s.trace.Variant != want {
			t.Errorf("%s: modulated by %q, %v; encoded for %q", mode, s.trace.Variant, err, want)
		}
	}
}
