package engine

import (
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/filter"
)

// twoDocuments is a database of two documents, closed when the test ends.
func twoDocuments(t *testing.T) *Engine {
	t.Helper()
	e, err := Open(t.Context(), t.TempDir(), encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.Add(t.Context(), []Document{{ID: "a", Text: "first words"}, {ID: "b", Text: "second words"}}); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestVariantIsResolvedOnce: a query that names no variant is modulated by the
// one it was encoded for, though a fit chooses another in between.
func TestVariantIsResolvedOnce(t *testing.T) {
	e := twoDocuments(t)
	for mode, want := range map[string]string{ModeDense: VariantLocal, ModeHybrid: "rlr"} {
		e.auto = ""
		s, err := e.prepare(t.Context(), Query{Text: "words", Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		e.auto = "rlr+slr" // reads more of the encoder than the query has asked it for
		if err := s.begin(t.Context()); err != nil || s.trace.Variant != want {
			t.Errorf("%s: modulated by %q, %v; encoded for %q", mode, s.trace.Variant, err, want)
		}
	}
}

// TestFilterThatNothingMeets: no cell is looked into, and so none fitted, for a
// filter that nothing meets.
func TestFilterThatNothingMeets(t *testing.T) {
	e := twoDocuments(t)
	q := Query{Text: "words", Mode: ModeDense, Variant: VariantLocal, Filter: filter.Exists("year")}
	r, err := e.Search(t.Context(), q)
	if err != nil || len(r.Hits) != 0 || r.Trace.Cells != 0 || r.Trace.Variant != VariantLocal || e.local.Dirty() == 0 {
		t.Fatalf("%+v, %v, %d cells to be fitted", r, err, e.local.Dirty())
	}
	q.Filter = Filter{}
	if r, err = e.Search(t.Context(), q); err != nil || len(r.Hits) != 2 || r.Trace.Cells == 0 || e.local.Dirty() != 0 {
		t.Fatalf("%+v, %v, %d cells to be fitted", r, err, e.local.Dirty())
	}
}
