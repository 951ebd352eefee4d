package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// TestFailedApplication: a commit that cannot be applied is stored, ends
// searches and writes with ErrBehind, is never saved half applied, and is found
// after reopening.
func TestFailedApplication(t *testing.T) {
	dir := t.TempDir()
	e, err := Open(t.Context(), dir, encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Add(t.Context(), []Document{{ID: "a", Text: "first words"}}); err != nil {
		t.Fatal(err)
	}
	// Sums of another dimension refuse every passage.
	whole := e.sums.Sums
	e.sums.Sums = modulate.NewSums(16, whole.VocabSize())
	if _, err := e.Add(t.Context(), []Document{{ID: "b", Text: "second words"}}); err == nil {
		t.Fatal("the failure was swallowed")
	}
	for name, call := range map[string]func() error{
		"search": func() error { _, err := e.Search(t.Context(), Query{Text: "words"}); return err },
		"vector": func() error { _, _, err := e.Vector(t.Context(), Query{Text: "words"}); return err },
		"add":    func() error { _, err := e.Add(t.Context(), []Document{{ID: "c", Text: "x"}}); return err },
		"delete": func() error { _, err := e.Delete(t.Context(), []string{"a"}); return err },
	} {
		if err := call(); !errors.Is(err, ErrBehind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e, err = Open(t.Context(), dir, encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, id := range []string{"a", "b"} {
		r, err := e.Search(t.Context(), Query{Text: fmt.Sprint(map[string]string{"a": "first", "b": "second"}[id], " words"), K: 1})
		if err != nil || len(r.Hits) != 1 || r.Hits[0].ID != id {
			t.Fatalf("%s: %+v, %v", id, r.Hits, err)
		}
	}
}
